import type { Command } from 'commander';
import { MANAGEMENT_HELP } from '../options.ts';
import { append } from './server-files.ts';
import { withControlOptions } from '../control-options.ts';
import type { UpOptions } from '../up/up.ts';

const HELP = `
The first start creates an organisation, an edge, a node, a key, which it prints once, and a small game server,
which it starts and which needs no Docker. Other games run in Docker, which is found when it is there. If it is interrupted
before the key was printed, the next start makes another one. A key that was lost: portcullis keys create --organisation default --name NAME --ability ...

  portcullis up
  sudo portcullis up --hosts 0.0.0.0:8443 --name control.example.net    prints what joins an edge and a node
  portcullis up --fleet fleet.yaml --listen 0.0.0.0:8080 --public-url https://edge.example.net
  sudo portcullis up --enforce --confirm-within 120s     then: sudo portcullis edge confirm`;

export function addUp(program: Command): void {
  withControlOptions(program.command('up').description('the whole platform on this machine'))
    .option('--fleet <file>', 'apply this fleet file now and on every start')
    .option(
      '--hosts <host:port>',
      'let other hosts join: control listens here with a certificate of its own, and NATS runs beside it',
    )
    .option(
      '--name <host>',
      'with --hosts: a name or address by which they reach this one; repeatable',
      append,
    )
    .option('--nats-listen <host:port>', 'with --hosts: where NATS listens (default: port 4223)')
    .option('--edge <name>', "which of the fleet's edges this machine is (default: the first)")
    .option('--node <name>', "which of the fleet's nodes this machine is (default: the first)")
    .option(
      '--engine <engine>',
      'what runs game servers: docker, process, which isolates nothing, or both: Docker if it answers, and only what comes with Portcullis as a process (default: both)',
    )
    .option(
      '--docker-host <url>',
      "the engine's socket (default: DOCKER_HOST, else unix:///var/run/docker.sock)",
    )
    .option(
      '--sftp-listen <[address:]port>',
      'where people connect to files of servers by SFTP, such as 2022 (default: off)',
    )
    .option('--enforce', 'let the kernel drop packets; without it the edge only observes')
    .option(
      '--confirm-within <time>',
      'with --enforce: disable the edge again unless confirmed within this time, such as 120s',
    )
    .option('--management <ports>', MANAGEMENT_HELP)
    .option(
      '--adopt <dir>',
      'as root, take over the installation of another account: its data is copied from there',
    )
    .option('--json', 'print one JSON document when everything is up')
    .addHelpText('after', HELP)
    .action(async (options: UpOptions) => (await import('../up/up.ts')).runUp(options));
}
