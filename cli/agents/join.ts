import { existsSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { createJoinKey } from '@portcullis/link/join-key.ts';
import { parseJoinUrl } from '@portcullis/link/join-url.ts';
import { parseCredential } from '@portcullis/link/credential.ts';
import type { AgentRef } from '@portcullis/link/messages/messages.ts';
import type { Command } from 'commander';
import { dataDirectory, optionName } from '../control-options.ts';
import { hasSystemd } from './unit-file.ts';
import { installService } from '../commands/service.ts';
import { failed, unavailable, usageError } from '@portcullis/caller/exit.ts';
import { parseDuration } from '@portcullis/caller/options.ts';
import { print, warn } from '@portcullis/caller/output.ts';
import { credentialFile, nameIn, readCredential, saveCredential } from './credential-file.ts';
import { postToControl } from './pinned-request.ts';

interface JoinOptions {
  readonly data?: string;
  readonly foreground?: boolean;
  /** The engine of a node. */
  readonly engine?: string;
  readonly replace?: boolean;
  readonly wait: string;
}

const POLL_MS = 1_000;
const LONGEST_WAIT_MS = 7 * 86_400_000;
/** The time after the start in which what `state` reports is printed; the agent goes on without. */
const LIVE_MS = 120_000;

/**
 * Adds `join`: trades a token for the credential of this host, writes it where the role reads it, and runs the role as a
 * service, or in the foreground by `run`.
 */
export function addJoin(
  role: Command,
  kind: AgentRef['kind'],
  run: (file: string, options: never) => Promise<void>,
): void {
  role
    .command('join')
    .description(
      `make this host ${withArticle(kind)} of a fleet, by a token of "portcullis tokens create"`,
    )
    .argument('<url>', 'of control: https://portcullis.example.net')
    .argument('<token>', 'works once')
    .option('--data <dir>', 'data directory of this host')
    .option('--foreground', 'run here, without systemd')
    .option('--replace', 'replace the credential that this host has')
    .option('--wait <time>', 'how long to wait for an approval', '1h')
    .addHelpText(
      'after',
      `\nFurther options are those of "portcullis ${kind}"; the service gets them too.`,
    )
    .action(async (url: string, token: string, _options: object, invoked: Command) => {
      const options = invoked.optsWithGlobals<JoinOptions>();
      await join({ kind, url, token, options, role, run });
    });
}

interface Join {
  readonly kind: AgentRef['kind'];
  readonly url: string;
  readonly token: string;
  readonly options: JoinOptions;
  readonly role: Command;
  readonly run: (file: string, options: never) => Promise<void>;
}

async function join({ kind, url, token: pasted, options, role, run }: Join): Promise<void> {
  // Terminals and mails break a long word into lines.
  const token = pasted.replaceAll(/\s+/g, '');
  const dataDir = await dataDirectory(options);
  const file = credentialFile(dataDir, kind);
  if (existsSync(file) && options.replace !== true) {
    if (options.foreground === true) return goOn({ kind, file, options, run });
    throw failed(`this host has a credential already, in ${file}: give --replace to replace it`);
  }
  const waitMs = parseDuration(options.wait, '--wait', LONGEST_WAIT_MS);
  const [, fingerprint] = /^pcj_[A-Za-z0-9_-]{32}\.([0-9a-f]{64})$/.exec(token) ?? [];
  if (fingerprint === undefined) {
    throw usageError(
      'this is not a token: copy the whole command that "portcullis tokens create" printed',
    );
  }
  const control = { url: requireUrl(url), fingerprint };
  requireHost(kind, options);
  const { name, credential } = await redeem(control, { kind, token }, waitMs);
  saveCredential(file, credential);
  print(`This host is the ${kind} ${name} now. Its credential is in ${file}.`);
  const secret = parseCredential(credential);
  if (!secret.ok)
    throw failed(`control gave a credential that this version cannot read: ${secret.reason}`);
  const live = sayWhenLive(control, { kind, name, secret: secret.value.secret });
  if (options.foreground === true) {
    void live.then(print, (error: Error) => warn(error.message));
    await run(file, options as never);
    return;
  }
  print(installService(kind, serviceOptions(role, kind, file)));
  print(await live);
}

/**
 * Goes on like the command of a container, which runs again with the state that is there: its token was used by the
 * first run.
 */
async function goOn({
  kind,
  file,
  options,
  run,
}: Pick<Join, 'kind' | 'options' | 'run'> & { readonly file: string }): Promise<void> {
  const name = nameIn(readCredential(file));
  print(
    `This host is ${withArticle(kind)} already${name === null ? '' : `, ${name}`}, by the credential in ${file}: the token is not used. --replace joins anew.`,
  );
  await run(file, options as never);
}

function withArticle(kind: AgentRef['kind']): string {
  return kind === 'edge' ? 'an edge' : `a ${kind}`;
}

/** Requirements of the host; what is missing is said before the token is spent. */
function requireHost(kind: AgentRef['kind'], { foreground, engine }: JoinOptions): void {
  const isRoot = process.getuid?.() === 0;
  const needsRoot = kind === 'edge' || (kind === 'node' && engine !== 'process');
  if (!isRoot && (needsRoot || foreground !== true)) {
    throw failed(
      `run this as root: ${needsRoot ? withArticle(kind) : 'a service'} needs its rights`,
    );
  }
  if (foreground !== true && !hasSystemd()) {
    throw failed(
      'this host does not run systemd: give --foreground, and have your own supervisor run it',
    );
  }
}

function requireUrl(text: string): URL {
  const url = parseJoinUrl(text);
  if (url === null) throw usageError(`${text} is not like https://portcullis.example.net`);
  return url;
}

interface Control {
  readonly url: URL;
  readonly fingerprint: string;
}

async function redeem(
  control: Control,
  { kind, token }: { readonly kind: AgentRef['kind']; readonly token: string },
  waitMs: number,
): Promise<{ readonly name: string; readonly credential: string }> {
  const untilMs = performance.now() + waitMs;
  const key = createJoinKey();
  const body = { kind, token, ...key.prove(kind, token) };
  for (let asked = false; performance.now() < untilMs; asked = true) {
    const { name, credential } = await postToControl<{
      readonly name: string;
      readonly credential: string | null;
    }>(control, '/agents/join', body);
    if (credential !== null) return { name, credential };
    if (!asked) {
      print(`The key of this host is ${key.fingerprint}.`);
      print(
        `Waiting for an operator: portcullis tokens approve ${kind} --name ${name} --fingerprint ${key.fingerprint}`,
      );
    }
    await delay(POLL_MS);
  }
  throw unavailable('no operator has approved this host in time: run this command again');
}

/** A sentence for the operator. */
async function sayWhenLive(
  control: Control,
  agent: { readonly kind: string; readonly name: string; readonly secret: string },
): Promise<string> {
  const startMs = performance.now();
  let last = 'it has not joined control yet';
  while (performance.now() - startMs < LIVE_MS) {
    const { connected, live, reason } = await postToControl<{
      readonly connected: boolean;
      readonly live: boolean;
      readonly reason: string | null;
    }>(control, '/agents/state', agent);
    const took = `${((performance.now() - startMs) / 1_000).toFixed(1)} s`;
    if (live) return `${agent.name} is live, ${took} after its start.`;
    if (connected && reason !== null)
      return `${agent.name} has joined, and is not live: ${reason}.`;
    if (connected) last = 'it has joined, and is not live yet';
    await delay(POLL_MS);
  }
  throw unavailable(
    `${agent.name}: ${last}. Its log says why: journalctl -u portcullis-${agent.kind}`,
  );
}

/** The options of the role as they were given to `join`. */
function serviceOptions(role: Command, kind: AgentRef['kind'], file: string): string[] {
  if (kind === 'collector') return ['--credential-file', file];
  return role.options.flatMap((option) => {
    const attribute = option.attributeName();
    if (role.getOptionValueSource(attribute) !== 'cli') return [];
    const value: unknown = role.getOptionValue(attribute);
    return [optionName(attribute), ...(value === true ? [] : [String(value)])];
  });
}
