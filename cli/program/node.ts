import type { Command } from 'commander';

export interface NodeOptions {
  readonly name?: string;
  readonly link?: string;
  readonly data?: string;
  readonly engine?: string;
  readonly dockerHost?: string;
  readonly closedNetworks?: string;
  readonly credentialFile?: string;
  readonly logLevel?: string;
}

export function addNode(program: Command): void {
  program
    .command('node')
    .description('the agent that runs game servers on this host')
    .option('--name <name>', 'its name in the fleet (default: local)')
    .option(
      '--link <path>',
      'socket of the control plane for nodes (default: in the data directory)',
    )
    .option('--data <dir>', 'data directory of this host')
    .option('--engine <engine>', 'docker, or process, which isolates nothing (default: docker)')
    .option(
      '--docker-host <url>',
      "the engine's socket (default: DOCKER_HOST, else unix:///var/run/docker.sock)",
    )
    .option(
      '--closed-networks <networks>',
      'that no server may speak to, such as that of a control plane elsewhere, with commas',
    )
    .option('--credential-file <file>', 'what control knows it by (default: in the data directory)')
    .option('--log-level <level>', 'fatal, error, warn, info or debug')
    .addHelpText(
      'after',
      `
  sudo portcullis nodes enrol node-1 --save      once, where control is: see "portcullis nodes --help"
  sudo portcullis node --name node-1
  portcullis node --name try-out --engine process

The credential may also stand in PORTCULLIS_NODE_CREDENTIAL. Ended, it leaves its servers running; started again, it
finds them.`,
    )
    .action(async (options: NodeOptions) => (await import('../commands/node.ts')).runNode(options));
}
