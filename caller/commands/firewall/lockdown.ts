import type { Command } from 'commander';
import { confirmOnTerminal } from '../../confirm.ts';
import { connect } from '../../connect.ts';
import { failed, usageError } from '../../exit.ts';
import { print, report } from '../../output.ts';
import { waitIfAsked, withWriteOptions, type WriteOptions } from '../../waiting.ts';

interface LockdownOptions extends WriteOptions {
  readonly off?: boolean;
  readonly yes?: boolean;
}

/** `firewall lockdown`. */
export function addLockdown(firewall: Command): void {
  withWriteOptions(
    firewall
      .command('lockdown')
      .description('drop what no rule allows, at an address: its default becomes deny')
      .argument('<ip>')
      .option('--off', 'its default is that of its prefix again')
      .option('--yes', 'do not ask'),
  )
    .addHelpText(
      'after',
      `
Shows what of the traffic of the last day it would drop. Answers to connections that the host opens pass as before.

  portcullis firewall lockdown 203.0.113.10
  portcullis firewall lockdown 203.0.113.10 --yes --wait
  portcullis firewall lockdown 203.0.113.10 --off`,
    )
    .action(lockdown);
}

async function lockdown(ip: string, options: LockdownOptions): Promise<void> {
  const client = connect(options);
  if (options.off !== true && options.yes !== true) {
    if (!process.stdin.isTTY) throw usageError('nobody is there to confirm: give --yes');
    const { message } = await client.dryRun({
      ip,
      body: { rules: [], filters: [], default: 'deny' },
    });
    print(message);
    if (!(await confirmOnTerminal(`Drop what no rule allows at ${ip}?`))) {
      throw failed('nothing was changed');
    }
  }
  const body = { target: ip, default: options.off === true ? null : ('deny' as const) };
  const answer = await client.setDefault({ body });
  await waitIfAsked(client, answer.response.generation, options, ip);
  report(answer, options);
}
