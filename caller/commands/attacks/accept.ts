import type { Command } from 'commander';
import { connect } from '../../connect.ts';
import { usageError } from '../../exit.ts';
import { type CallOptions, withCallOptions } from '../../options.ts';
import { report } from '../../output.ts';

interface AcceptOptions extends CallOptions {
  readonly undo?: boolean;
}

export function addAccept(attacks: Command): void {
  withCallOptions(
    attacks
      .command('accept')
      .description('accept the traffic of an attack that looks like usual traffic')
      .argument('<id>', 'as `attacks list` prints it'),
  )
    .option('--undo', 'take it back: the address has the thresholds of its scopes again')
    .addHelpText(
      'after',
      `
After an hour with a steady shape, from many sources, \`attacks show\` says so and names the thresholds that this sets.

  portcullis attacks accept 311
  portcullis attacks accept 311 --undo`,
    )
    .action(acceptTraffic);
}

async function acceptTraffic(id: string, options: AcceptOptions): Promise<void> {
  if (!/^[1-9][0-9]{0,15}$/.test(id)) throw usageError(`an attack has a whole number, not ${id}`);
  const client = connect(options);
  const attack = { attack: Number(id) };
  const answer =
    options.undo === true ? client.forgetTraffic(attack) : client.acceptTraffic(attack);
  report(await answer, options);
}
