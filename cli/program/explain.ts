import type { Command } from 'commander';

export interface ExplainOptions {
  readonly protocol: string;
  readonly from: string;
  readonly port?: string;
  readonly sourcePort?: string;
  readonly icmpType?: string;
  readonly view?: string;
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
}

export function addExplain(program: Command): void {
  const explain = program
    .command('explain')
    .description('would this packet pass, and which rule or filter decides')
    .argument('<ip>', 'the protected address that the packet is sent to')
    .requiredOption('--protocol <name>', 'tcp, udp, icmp, gre, esp, or a protocol number')
    .requiredOption('--from <ip>', 'where the packet comes from')
    .option('--port <port>', 'destination port, with tcp and udp')
    .option('--source-port <port>', 'source port, with tcp and udp')
    .option('--icmp-type <type>', 'with icmp')
    .option('--view <view>', 'accepted (default) or live');
  withApiOptions(explain)
    .addHelpText(
      'after',
      `
  portcullis explain 203.0.113.10 --protocol udp --port 27015 --from 192.0.2.7
  portcullis explain 2001:db8::10 --protocol icmp --icmp-type 128 --from 2001:db8:1::7 --json`,
    )
    .action(async (ip: string, options: ExplainOptions) => {
      const { explain } = await import('../commands/explain.ts');
      await explain(ip, options);
    });
}

/** Of commands that ask the API. */
export function withApiOptions(command: Command): Command {
  return command
    .option('--url <url>', 'of the control plane (PORTCULLIS_URL, default http://127.0.0.1:8080)')
    .option('--key <key>', 'API key that may do this (better: PORTCULLIS_API_KEY)')
    .option('--json', 'as JSON');
}
