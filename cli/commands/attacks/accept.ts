import type { Command } from 'commander';
import { type Accepted, callApi } from '../../api.ts';
import { usageError } from '../../exit.ts';
import { type ApiOptions, withApiOptions } from '../../options.ts';
import { print, printJson } from '../../output.ts';

interface AcceptOptions extends ApiOptions {
  readonly undo?: boolean;
}

export function addAccept(attacks: Command): void {
  withApiOptions(
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
  const method = options.undo === true ? 'DELETE' : 'POST';
  const path = `/api/x1/attacks/${id}/accept`;
  const { data, message } = (await callApi(options, method, path)) as Accepted;
  if (options.json === true) printJson(data);
  else print(message);
}
