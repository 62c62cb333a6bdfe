import type { FastPathState } from '@portcullis/core/firewall/edge-state.ts';
import { describeKernelError } from '../../kernel/describe-error.ts';
import type { Hook } from '../devices/links.ts';
import type { EarlyDropDriver, ForwardPort } from '../driver/driver.ts';
import type { Ports } from './ports.ts';

/** The host's treatment of forwarded packets, read at every call. The methods throw `SystemError`. */
export interface ForwardingHost {
  /** The part of this host that forwarded packets would skip, or null. */
  skipped(): string | null;
  /** `entries`: the hooks of the early drop on named devices. `answering`: those of our programs for answers. */
  ports(entries: ReadonlyMap<number, Hook>, answering: ReadonlyMap<number, Hook>): Ports;
}

/** The state of the early drop that the fast path depends on. */
export interface FastPathBase {
  readonly sees: 'both' | 'inbound';
  /** Every named device has a program, so that all packets are counted there. */
  readonly isComplete: boolean;
  /** The hooks of our programs, by the index of the device. */
  readonly entries: ReadonlyMap<number, Hook>;
}

/** The pause between two looks at the host. Shorter than the lease of the programs. */
const CHECK_MS = 1_000;
/** Writing rules takes no longer as a rule. */
const WRITTEN_MS = 5_000;

/**
 * Decides when packets of answered flows are forwarded without the network stack: only while nothing of this host is
 * skipped by that, and never while nftables and the early drop may have different rules.
 */
export class FastPath {
  readonly #driver: EarlyDropDriver;
  readonly #host: ForwardingHost | null;
  /** Reads the base; null before the first `resume`, and while rules are written. */
  #base: (() => FastPathBase) | null = null;
  #reason: string | null = 'nothing is loaded yet';
  #checkedMs = -Infinity;
  #suspendedMs = 0;

  /** `host`: null if the operator switched it off. */
  constructor(driver: EarlyDropDriver, host: ForwardingHost | null) {
    this.#driver = driver;
    this.#host = host;
  }

  state(): FastPathState {
    const packets = this.#host === null ? 0 : this.#packets();
    const pausedMs = this.#base === null ? performance.now() - this.#suspendedMs : 0;
    const reason =
      pausedMs > WRITTEN_MS ? (this.#reason ?? 'rules are being written') : this.#reason;
    return { isOn: reason === null, reason, packets };
  }

  #packets(): number {
    return this.#checkedMs === -Infinity ? 0 : this.#driver.forwarded();
  }

  /** Call before nftables gets other rules: until `resume` the network stack gets every packet. */
  suspend(): void {
    if (this.#base === null) return;
    this.#base = null;
    this.#suspendedMs = performance.now();
    if (this.#host !== null) this.#driver.forward(null);
  }

  /** Both have the same rules. */
  resume(base: () => FastPathBase): void {
    this.#base = base;
    this.#check();
  }

  /** Renews the lease of the programs, at most once a second. */
  refresh(): void {
    if (performance.now() - this.#checkedMs >= CHECK_MS) this.#check();
  }

  #check(): void {
    if (this.#base === null) return;
    this.#checkedMs = performance.now();
    const found = this.#plan(this.#base());
    const isOff = typeof found === 'string';
    this.#reason = isOff ? found : null;
    if (this.#host === null) this.#driver.forwardAnswers([]);
    else this.#driver.forward(isOff ? null : this.#withAnswers(found));
  }

  /** The ports, with entries of answers where their program could be attached. */
  #withAnswers({ ports, answers }: Ports): ForwardPort[] {
    this.#driver.forwardAnswers(answers);
    const answering = this.#driver.answering();
    return ports.map((port) => ({
      ...port,
      isEntry: port.isEntry || answering.has(port.ifindex),
    }));
  }

  #plan({ sees, isComplete, entries }: FastPathBase): Ports | string {
    if (this.#host === null) return 'switched off';
    if (sees === 'inbound') return 'this edge sees no answers';
    const obstacle = this.#driver.forwardObstacle();
    if (obstacle !== null) return obstacle;
    if (!isComplete) return 'the early drop is not on every device';
    try {
      const skipped = this.#host.skipped();
      if (skipped !== null) return skipped;
      return portsOf(this.#host.ports(entries, this.#driver.answering()), entries);
    } catch (error) {
      return `this host cannot be checked: ${describeKernelError(error)}`;
    }
  }
}

/** The ports, or why packets cannot be forwarded between any two. */
function portsOf(found: Ports, entries: ReadonlyMap<number, Hook>): Ports | string {
  const { ports, entryObstacles, exitObstacles } = found;
  if (!ports.some(({ isEntry }) => isEntry)) {
    const [first = 0] = entries.keys();
    return `no packet can be forwarded from a named device: ${entryObstacles.get(first) ?? 'it is gone'}`;
  }
  const hooks = new Set(
    ports.flatMap(({ isEntry, ifindex }) => (isEntry && entries.get(ifindex)) || []),
  );
  const takes = ({ isExit, isTcExit }: ForwardPort): boolean =>
    (isExit && hooks.has('native')) || (isTcExit && hooks.has('tc'));
  if (ports.some((port) => takes(port) && !entries.has(port.ifindex))) return found;
  const others = [...exitObstacles].filter(([ifindex]) => !entries.has(ifindex));
  const [reason] = others.map(([, text]) => text).toSorted(byUse);
  return `no packet can be forwarded to another device: ${reason ?? 'there is none'}`;
}

/** The loopback device and others without packets of servers say least. */
function byUse(a: string, b: string): number {
  return Number(a.includes('Ethernet')) - Number(b.includes('Ethernet'));
}
