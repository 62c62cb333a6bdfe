import { parseCredential } from '@portcullis/link/credential.ts';
import { Argument, type Command } from 'commander';
import { trust } from '@portcullis/caller/authority.ts';
import { EXIT, QuietExit, usageError } from '@portcullis/caller/exit.ts';
import { print, printJson, styled } from '@portcullis/caller/output.ts';
import { credentialFile, readCredential } from '../agents/credential-file.ts';
import { dataDirectory } from '../control-options.ts';
import { examine, type Finding, ROLES, type Role } from '../doctor/checks.ts';
import { HOST } from '../doctor/host.ts';

interface DoctorOptions {
  readonly data?: string;
  readonly credentialFile?: string;
  readonly url?: string;
  readonly ca?: string;
  readonly json?: boolean;
}

/** `doctor`. */
export function addDoctor(program: Command): void {
  program
    .command('doctor')
    .description('check this host for a role, and say how to repair what is wrong; changes nothing')
    .addArgument(new Argument('<role>', 'what this host is').choices(ROLES))
    .option('--data <dir>', 'data directory of this host')
    .option('--credential-file <file>', "the agent's credential (default: in the data directory)")
    .option('--url <url>', 'of control: whether this host reaches it')
    .option(
      '--ca <file|fingerprint>',
      "an authority to trust for --url (default: that of the agent's credential)",
    )
    .option('--json', 'as JSON')
    .addHelpText(
      'after',
      `
  sudo portcullis doctor edge
  sudo portcullis doctor node --url https://portcullis.example.net
  portcullis doctor control --json | jq '.data[] | select(.state != "ok")'

The exit code is 1 if the role does not work here.`,
    )
    .action(runDoctor);
}

/** A host that has joined knows the authority of its installation. */
function trustAuthorityOf(credential: string | null): void {
  const parsed = parseCredential(credential ?? '');
  const authority = parsed.ok ? (parsed.value.remote?.nats.ca ?? null) : null;
  if (authority !== null) trust(authority);
}

const MARKS = { ok: 'ok     ', warning: 'warning', fault: 'FAULT  ' } as const;
const COLOURS = { ok: 'green', warning: 'yellow', fault: 'red' } as const;

async function runDoctor(role: Role, options: DoctorOptions): Promise<void> {
  const { url = null } = options;
  if (url !== null && !URL.canParse(url)) {
    throw usageError(`--url ${url} is not a URL such as https://portcullis.example.net`);
  }
  const dataDir = await dataDirectory(options);
  const credential =
    role === 'control'
      ? null
      : readCredential(options.credentialFile ?? credentialFile(dataDir, role));
  if (options.ca === undefined) trustAuthorityOf(credential);
  const found = await examine(HOST, { role, dataDir, credential, url });
  const faults = found.filter(({ state }) => state === 'fault').length;
  if (options.json === true) printJson(found);
  else {
    for (const one of found) describe(one);
    print(
      faults === 0
        ? `This host can be ${article(role)}.`
        : `Repair the faults; then it can be ${article(role)}.`,
    );
  }
  if (faults > 0) throw new QuietExit(EXIT.failed);
}

function article(role: Role): string {
  if (role === 'control') return 'the host of control';
  return role === 'edge' ? 'an edge' : `a ${role}`;
}

function describe({ check, state, found, repair }: Finding): void {
  print(`${styled(COLOURS[state], MARKS[state])}  ${check}: ${found}`);
  if (repair !== null) print(`         ${repair}`);
}
