import { join } from 'node:path';
import { quoteUnitWord } from '@portcullis/edge/boot/unit.ts';
import { Argument, type Command } from 'commander';
import { UnitFile } from '../agents/unit-file.ts';
import { usageError } from '@portcullis/caller/exit.ts';
import { print } from '@portcullis/caller/output.ts';

/** What each role waits for, and what it is. */
const ROLES = {
  up: { description: 'the whole platform on this machine', after: 'network-online.target' },
  control: { description: 'the control plane', after: 'network-online.target postgresql.service' },
  edge: {
    description: 'the edge of this host',
    after: 'network.target portcullis-control.service',
  },
  node: {
    description: 'the node of this host',
    after: 'network-online.target docker.service portcullis-control.service',
  },
  collector: {
    description: 'a collector of flow exports',
    after: 'network-online.target portcullis-control.service',
  },
} as const;
type Role = keyof typeof ROLES;

const LAUNCHER = join(import.meta.dirname, '..', '..', 'portcullis');
const CONTROL_CHARACTER = /\p{Cc}/u;

export function addService(program: Command): void {
  const service = program
    .command('service')
    .description('run a role under systemd, from the boot on')
    .addHelpText(
      'after',
      `
  sudo portcullis service install up -- --fleet /etc/portcullis/fleet.yaml --enforce
  sudo portcullis service install edge -- --name fra1 --enforce
  portcullis service show control                      the unit, without installing it
  sudo portcullis service uninstall up                 stops it; data and what the kernel enforces stay

Options of the role follow --. Secrets and other variables: /etc/portcullis/ROLE.env (NAME=value a line), readable only
by root. Output is in the journal: journalctl -u portcullis-up`,
    );
  const role = () => new Argument('<role>').choices(Object.keys(ROLES));
  const options = () => new Argument('[options...]', 'of the role, after --');
  service
    .command('install')
    .description('write the unit, enable and start it')
    .addArgument(role())
    .addArgument(options())
    .action((name: Role, args: readonly string[]) => print(installService(name, args)));
  service
    .command('uninstall')
    .description('stop it, disable and remove the unit')
    .addArgument(role())
    .action((name: Role) => {
      const unit = unitOf(name);
      const text = unit.uninstall({ now: true }) ? 'is removed' : 'does not exist';
      print(`${unit.path} ${text}.`);
    });
  service
    .command('show')
    .description('print the unit')
    .addArgument(role())
    .addArgument(options())
    .action((name: Role, args: readonly string[]) => print(renderService(name, args).trimEnd()));
}

/** Returns a sentence that says what runs now. */
export function installService(role: Role, args: readonly string[]): string {
  const unit = unitOf(role);
  unit.install(renderService(role, args), { now: true });
  return `${unit.path} is enabled and runs: systemctl status ${unit.name}`;
}

function unitOf(role: Role): UnitFile {
  return new UnitFile(`portcullis-${role}.service`);
}

/**
 * The role gives up the rights that it does not need by itself, and what it stops it stops in order: so systemd signals
 * only the main process, and restricts little.
 */
function renderService(role: Role, args: readonly string[]): string {
  // A line break would end the line of the unit and start another setting.
  if (args.some((word) => CONTROL_CHARACTER.test(word)))
    throw usageError('an option has a control character in it');
  const { description, after } = ROLES[role];
  const command = [LAUNCHER, role, ...args].map(quoteUnitWord).join(' ').replaceAll('$', '$$$$');
  return `[Unit]
Description=Portcullis: ${description}
Wants=network-online.target
After=${after}

[Service]
Type=exec
EnvironmentFile=-/etc/portcullis/${role}.env
ExecStart=${command}
KillMode=mixed
TimeoutStopSec=60
Restart=on-failure
RestartSec=2
LimitNOFILE=65536
ProtectClock=yes
ProtectHostname=yes
RestrictRealtime=yes
LockPersonality=yes

[Install]
WantedBy=multi-user.target
`;
}
