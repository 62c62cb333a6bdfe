import { Argument, type Command } from 'commander';
import { UnitFile } from '../agents/unit-file.ts';
import { renderService, type Role, ROLES } from '../agents/service-unit.ts';
import { print } from '@portcullis/caller/output.ts';

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
