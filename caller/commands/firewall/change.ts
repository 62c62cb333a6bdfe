import type { Command } from 'commander';
import type { AcceptedRule, AddressReplacement } from '@portcullis/client/generated/operations.ts';
import type { KeyClient } from '@portcullis/client/types.ts';
import { ruleIdentity, type WantedRule } from '@portcullis/core/firewall/rules/content.ts';
import { expandEntry, parsePortName, readEntry } from '@portcullis/core/firewall/rules/entry.ts';
import type { MarksEntry } from '@portcullis/core/firewall/rules/marks.ts';
import { parseAddress } from '@portcullis/core/net/address.ts';
import { type Accepted, changeAddress, isOwn, ownObjects, sentObjects } from '../../address.ts';
import { connect } from '../../connect.ts';
import { failed, usageError } from '../../exit.ts';
import { asWanted, mergeAddress } from '../../file/plan.ts';
import { parseDuration } from '../../options.ts';
import { print, printJson, report } from '../../output.ts';
import { waitIfAsked, withWriteOptions, type WriteOptions } from '../../waiting.ts';

interface RuleOptions extends WriteOptions {
  readonly from?: string;
  readonly me?: boolean;
  readonly for?: string;
  readonly ref?: string;
}

const LONGEST_MS = 366 * 86_400_000;
const PORTS = 'such as 443, 80,443 or 27015-27020, or SERVER:PORT';

/** `firewall open`, `close`, `allow`, `deny` and `remove`. All of them say so when there is nothing to do. */
export function addChanges(firewall: Command): void {
  for (const verb of ['open', 'close'] as const) {
    withWriteOptions(
      firewall
        .command(verb)
        .description(
          verb === 'open'
            ? 'let everybody reach a port: an allow rule, in place of a deny of the same port'
            : 'let nobody reach a port: a deny rule, in place of allows of the same port',
        )
        .argument('<ip>')
        .argument('<protocol>', 'tcp or udp')
        .argument('<ports>', PORTS),
    )
      .addHelpText(
        'after',
        `\n  portcullis firewall ${verb} 203.0.113.10 tcp 25565\n  portcullis firewall ${verb} 203.0.113.10 udp 27015-27020 --wait`,
      )
      .action((ip: string, protocol: string, ports: string, options: WriteOptions) =>
        openOrClose(verb, { ip, protocol, ports }, options),
      );
  }
  for (const action of ['allow', 'deny'] as const) {
    withWriteOptions(
      firewall
        .command(action)
        .description(`${action} a protocol, from everywhere or one source`)
        .argument('<ip>')
        .argument('<protocol>', 'tcp, udp, icmp, gre, esp or any')
        .argument('[ports]', PORTS)
        .option('--from <source>', 'only from this address or network')
        .option('--me', 'only from the address that you call from')
        .option('--for <time>', 'it ends by itself, after such as 30m or 2h')
        .option('--ref <name>', 'your own name for it: another rule of this name gives way'),
    )
      .addHelpText('after', EXAMPLES[action])
      .action((ip: string, protocol: string, ports: string | undefined, options: RuleOptions) =>
        addRule(action, { ip, protocol, ports: ports ?? null }, options),
      );
  }
  withWriteOptions(
    firewall
      .command('remove')
      .description('delete own rules, by id or ref')
      .argument('<ip>')
      .argument('<rule...>', 'as `firewall show IP` prints them'),
  ).action(remove);
}

const EXAMPLES = {
  allow: `
  portcullis firewall allow 203.0.113.10 tcp 22 --from 198.51.100.0/24
  portcullis firewall allow 203.0.113.10 tcp 22 --me --for 30m       from here, and closed again by itself`,
  deny: `
  portcullis firewall deny 203.0.113.10 udp 1900
  portcullis firewall deny 203.0.113.10 any --from 192.0.2.7 --for 2h

Allow rules are read before deny rules: to drop everything of a source, use "portcullis firewall block".`,
};

interface Target {
  readonly ip: string;
  readonly protocol: string;
  readonly ports: string | null;
}

/** The rules of an action on a target, one a port. Throws what is wrong with the words. */
function rulesOf(
  action: 'allow' | 'deny',
  { ip, protocol, ports }: Target,
  source: string | null,
  marks: MarksEntry = {},
): WantedRule[] {
  const address = parseAddress(ip);
  if (!address.ok) throw usageError(`${ip} is not an address: ${address.reason}`);
  const namedPort = ports === null ? null : parsePortName(ports);
  const entry = {
    action,
    protocol,
    source_ip: source,
    destination_port: namedPort === null ? ports : null,
  };
  const { family } = address.value;
  const read = readEntry({ ...entry, namedPort, ...marks }, { family, now: new Date() });
  if (read.ok) return expandEntry(read.value);
  throw usageError(read.field === 'ref' ? `--ref ${read.reason}` : read.reason);
}

async function openOrClose(
  verb: 'open' | 'close',
  target: Target & { readonly ports: string },
  options: WriteOptions,
): Promise<void> {
  const action = verb === 'open' ? 'allow' : 'deny';
  const added = rulesOf(action, target, null);
  const against = new Set(
    rulesOf(action === 'allow' ? 'deny' : 'allow', target, null).map(ruleIdentity),
  );
  await change(target.ip, options, (accepted) => planned(accepted, added, against));
}

async function addRule(
  action: 'allow' | 'deny',
  target: Target,
  options: RuleOptions,
): Promise<void> {
  const client = connect(options);
  if (options.from !== undefined && options.me === true) {
    throw usageError('--from and --me both name the source: leave one out');
  }
  const source = options.me === true ? await ownAddress(client) : (options.from ?? null);
  const forMs = options.for === undefined ? null : parseDuration(options.for, '--for', LONGEST_MS);
  const marks = {
    ...(options.ref !== undefined && { ref: options.ref }),
    ...(forMs !== null && { expires_at: new Date(Date.now() + forMs).toISOString() }),
  };
  const added = rulesOf(action, target, source, marks);
  await change(target.ip, options, (accepted) => planned(accepted, added));
}

/** Where control sees this caller. */
async function ownAddress(client: KeyClient): Promise<string> {
  const { source_ip: source } = (await client.readCaller()).data;
  if (source === null) throw failed('control does not know where this call comes from: use --from');
  return source;
}

async function remove(ip: string, names: readonly string[], options: WriteOptions): Promise<void> {
  await change(ip, options, ({ data }) => {
    const { rules, filters } = ownObjects(data);
    const found = (name: string): AcceptedRule | undefined =>
      rules.find(({ id, ref }) => ref === name || String(id) === name);
    const unknown = names.filter((name) => found(name) === undefined);
    if (unknown.length > 0)
      throw failed(`${ip} has no own rule ${unknown.join(', ')}; nothing was deleted`);
    const removed = new Set(names.map(found));
    return sentObjects({ rules: rules.filter((rule) => !removed.has(rule)), filters });
  });
}

type Body = Pick<AddressReplacement, 'rules' | 'filters'>;

/**
 * Plans rules as a file would that names these rules, without the own rules of the identities in `removed`; null if
 * it is so already.
 */
function planned(
  accepted: Accepted,
  added: readonly WantedRule[],
  removed: ReadonlySet<string> = new Set(),
): Body | null {
  const { data, meta } = accepted;
  const rules = data.rules.filter(
    (rule) => !isOwn(rule) || !removed.has(ruleIdentity(asWanted(rule))),
  );
  const left = { ...data, rules };
  const state = { accepted: { data: left, meta }, etag: null, blocked: [] };
  const wanted = { ip: data.ip, rules: added, expectations: [] };
  const { replacement } = mergeAddress(wanted, state, { prune: false });
  if (replacement !== null || rules.length === data.rules.length) return replacement;
  return sentObjects(ownObjects(left));
}

/** Changes the own objects of an address, and says what was done. */
export async function change(
  ip: string,
  options: WriteOptions,
  how: (accepted: Accepted) => Body | null,
): Promise<void> {
  const client = connect(options);
  const answer = await changeAddress(client, ip, how);
  if (answer === null) {
    const nothing = { created: { rules: [], filters: [] }, deleted: { rules: [], filters: [] } };
    if (options.json === true) printJson(nothing);
    else if (options.quiet !== true) print('Nothing to change: it is so already.');
    return;
  }
  await waitIfAsked(client, answer.response.generation, options, ip);
  report(answer, options);
}
