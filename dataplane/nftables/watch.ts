import { NETLINK, NetlinkSocket } from '../kernel/netlink/netlink.ts';
import { attributesOf, type Message, textOf } from '../kernel/netlink/netlink-message.ts';
import { SystemError } from '../kernel/native.ts';
import type { Change, Driver, Watch } from './driver.ts';
import { TABLE_NAME } from './names.ts';
import type { Ruleset } from './ruleset.ts';

/** Source of the constants: include/uapi/linux/netfilter/{nfnetlink,nf_tables}.h. */
const GROUP_NFTABLES = 7;
const SUBSYSTEM = 10;
const NFPROTO_INET = 1;
const NEW_GENERATION = 15;
const GENERATION = { pid: 2, name: 3 } as const;
/** The table is the first attribute of each message. */
const TABLE_ATTRIBUTE = 1;
const WORDS: Readonly<Record<number, string>> = {
  0: 'added a table',
  2: 'deleted the table',
  3: 'changed a chain',
  5: 'deleted a chain',
  6: 'added a rule',
  8: 'deleted a rule',
  9: 'added a set',
  11: 'deleted a set',
  12: 'added elements',
  14: 'deleted elements',
  22: 'added a flowtable',
  24: 'deleted a flowtable',
};
/** The delay before a report. Several changes in a row are repaired together. */
const SETTLE_MS = 100;
const BUFFER_BYTES = 4 << 20;

/** Reports a foreign change of our table, in words; `doubt` if it is only possible, because notifications were lost. */
export type Report = (what: string) => void;

/**
 * A driver that reports foreign changes of our table. It ignores the notifications of its own writes: a whole table
 * would cause one for each element. The generation of the ruleset, which every transaction increments, shows whether
 * another program wrote meanwhile.
 */
export function watched(inner: Driver, rules: Ruleset): Driver {
  let watch: RulesetWatch | null = null;
  const during = <T>(transactions: readonly number[], write: () => Promise<T>): Promise<T> =>
    watch === null ? write() : watch.during(transactions, write);
  return {
    ...inner,
    apply: (text) => during([text === '' ? 0 : 1], () => inner.apply(text)),
    change: (change) => during(transactionsOf(change), () => inner.change(change)),
    remove: () => during([1], () => inner.remove()),
    present: async () => {
      watch?.poll();
      return rules.present();
    },
    stamp: async () => {
      if (watch === null) return null;
      const stamp = rules.generation();
      // Reports foreign changes first, so that the caller can rely on the stamp.
      watch.poll();
      return stamp;
    },
    watch: (report) => {
      watch?.stop();
      watch = new RulesetWatch(rules, report);
      return watch;
    },
  };
}

/** The possible numbers of transactions of a change: one for each step, or one for the text. */
function transactionsOf({ text, steps }: Change): readonly number[] {
  if (steps === null) return [text === '' ? 0 : 1];
  const { prepare, elements, cleanup } = steps;
  const taken = [prepare !== '', elements.length > 0, cleanup !== ''].filter(Boolean).length;
  return text === '' ? [0] : [1, taken];
}

class RulesetWatch implements Watch {
  readonly #rules: Ruleset;
  readonly #report: Report;
  readonly #socket = new NetlinkSocket(NETLINK.netfilter, { bufferBytes: BUFFER_BYTES });
  #stopped = false;

  constructor(rules: Ruleset, report: Report) {
    this.#rules = rules;
    this.#report = report;
    this.#socket.join(GROUP_NFTABLES);
    this.#socket.onArrival(SETTLE_MS, () => this.poll());
  }

  poll(): void {
    if (this.#stopped) return;
    const what = describe(this.#drain());
    if (what !== null) this.#report(what);
  }

  async during<T>(transactions: readonly number[], write: () => Promise<T>): Promise<T> {
    if (this.#stopped) return write();
    const before = this.#rules.generation();
    this.#socket.leave(GROUP_NFTABLES);
    this.poll();
    try {
      const result = await write();
      this.#reopen();
      // The number of transactions is known only after a success. A failure is followed by a whole write.
      const more = (this.#rules.generation() - before) >>> 0;
      if (!transactions.includes(more)) this.#report('changed the ruleset while we did');
      return result;
    } finally {
      this.#reopen();
    }
  }

  stop(): void {
    if (this.#stopped) return;
    this.#stopped = true;
    this.#socket.close();
  }

  #reopen(): void {
    if (!this.#stopped) this.#socket.join(GROUP_NFTABLES);
  }

  /** Returns null if notifications were lost. */
  #drain(): Message[] | null {
    try {
      return this.#socket.drain();
    } catch (error) {
      if (error instanceof SystemError && error.code === 'ENOBUFS') return null;
      throw error;
    }
  }
}

/** Describes the changes of our table; null if there are none. */
function describe(messages: readonly Message[] | null): string | null {
  if (messages === null) return 'changed more than could be followed';
  const deeds = new Set<string>();
  let by = '';
  for (const { type, payload } of messages) {
    if (type >> 8 !== SUBSYSTEM) continue;
    const attributes = attributesOf(payload, 4);
    const kind = type & 0xff;
    if (kind === NEW_GENERATION) {
      // This message ends a transaction and names its process.
      const pid = attributes.get(GENERATION.pid)?.readUInt32BE(0);
      if (deeds.size > 0 && by === '')
        by = ` (${textOf(attributes.get(GENERATION.name))}, process ${pid})`;
    } else if (
      payload[0] === NFPROTO_INET &&
      textOf(attributes.get(TABLE_ATTRIBUTE)) === TABLE_NAME
    ) {
      const word = WORDS[kind];
      if (word !== undefined) deeds.add(word);
    }
  }
  return deeds.size === 0 ? null : `${[...deeds].join(', ')}${by}`;
}
