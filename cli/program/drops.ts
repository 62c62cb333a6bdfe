import type { Command } from 'commander';
import { withApiOptions } from './explain.ts';

export interface DropsOptions {
  readonly from?: string;
  readonly to?: string;
  readonly edge?: string;
  readonly watch?: boolean;
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
}

export function addDrops(program: Command): void {
  const drops = program
    .command('drops')
    .description('what edges dropped of the packets to an address: by reason, with samples')
    .argument('<ip>', 'the protected address')
    .option(
      '--from <time>',
      'ISO 8601 with an offset, or how long ago, such as 90m (default: a day)',
    )
    .option('--to <time>', 'likewise (default: now)')
    .option('--edge <name>', 'only what this edge dropped')
    .option('--watch', 'look again every few seconds and print what is new, until interrupted');
  withApiOptions(drops)
    .addHelpText(
      'after',
      `
  portcullis drops 203.0.113.10
  portcullis drops 203.0.113.10 --from 30m --edge fra1
  portcullis drops 2001:db8::10 --watch
  portcullis drops 203.0.113.10 --json | jq .meta.packets

With --json --watch: one JSON document a line.`,
    )
    .action(async (ip: string, options: DropsOptions) => {
      const { showDrops } = await import('../commands/drops.ts');
      await showDrops(ip, options);
    });
}
