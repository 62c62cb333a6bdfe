import type { ManagementPort, Packet } from '@portcullis/core/firewall/packet.ts';
import type { Policy } from '@portcullis/core/firewall/policy.ts';
import type { LiveVerdict } from '@portcullis/link/messages/edge.ts';
import type { Desired } from '@portcullis/dataplane/desired.ts';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import type { Filtering } from '@portcullis/dataplane/nftables/filters/compile.ts';
import type { NamedDevices } from '../host/devices.ts';
import { type Applied, Reconciler } from '../reconcile/reconcile.ts';
import { withMore } from '../reconcile/desired.ts';
import { Guard, kernelWatch } from '../repair/guard.ts';
import { LivePolicies } from '../report/live-policies.ts';
import type { KernelWatch } from '../report/report.ts';
import { Disk } from '../state/disk.ts';
import type { ModeSwitch } from '../switch/mode.ts';
import type { EdgeAgentOptions } from './agent-options.ts';

export interface EnforcerOptions {
  /** The parts of this host that carry out the desired state. */
  readonly host: EdgeAgentOptions;
  readonly mode: ModeSwitch;
  readonly devices: NamedDevices;
  /** Requests another apply. */
  readonly applyAgain: () => void;
  /** A device came, went, or changed. */
  readonly linksChanged: () => void;
}

/** Brings the kernel of this host to the desired state and keeps on disk what it has. One apply at a time. */
export class Enforcer {
  readonly #options: EnforcerOptions;
  readonly #reconciler: Reconciler;
  readonly #disk: Disk;
  readonly #guard: Guard;
  readonly #live = new LivePolicies();
  /** Whether the kernel still has what the agent wrote. */
  readonly kernel: KernelWatch;
  #applied: Applied | null = null;
  #lastApplyMs: number | null = null;

  constructor(options: EnforcerOptions) {
    this.#options = options;
    const { host, mode, applyAgain } = options;
    const { driver, filters, log, stateDir, earlyDrop = null } = host;
    const serverAt: Filtering['serverAt'] = (address, port) =>
      filters?.serverAt(address, port) ?? null;
    this.#reconciler = new Reconciler(
      driver,
      host.limits ?? DEFAULT_LIMITS,
      { serverAt },
      host.deniedFlowFile,
    );
    filters?.onServers((addresses) => {
      this.#reconciler.recompile(addresses);
      applyAgain();
    });
    this.#disk = new Disk(stateDir, log);
    this.#guard = new Guard({
      driver,
      watchLinks: host.watchLinks ?? null,
      devices: options.devices,
      earlyDrop,
      log,
      // `edge off` removes the table before this agent polls the marker: that is no other program.
      enforcing: () => mode.state.mode === 'enforce' && !mode.isOff(),
      invalidate: () => this.#reconciler.invalidate(),
      repair: applyAgain,
      linksChanged: options.linksChanged,
    });
    this.kernel = kernelWatch(this.#guard, earlyDrop);
  }

  /** The result of the last apply in this mode; null before it. */
  get applied(): Applied | null {
    return this.#applied;
  }

  get lastApplyMs(): number | null {
    return this.#lastApplyMs;
  }

  get problem(): string | null {
    return this.#guard.problem ?? this.#disk.problem;
  }

  /** Returns what an earlier agent enforced last, or null. Call it after the mode was read. */
  async load(): Promise<Desired | null> {
    const { driver, mode, earlyDrop } = this.#options.host;
    const hasTable = this.#options.mode.state.canCheck && (await driver.present());
    const desired = this.#disk.load(hasTable);
    if (this.#options.mode.state.mode === 'enforce') {
      // From now on a change of our table is noticed.
      this.#guard.start();
      await this.#reconciler.expect(this.#disk.knownTable());
    }
    if (mode === 'observe') {
      this.#disk.removeTable();
      // Unlike the table, it can only be this agent's; an observing edge drops nothing.
      earlyDrop?.remove();
    }
    return desired;
  }

  /**
   * Every transaction changes the stamp of the ruleset: those of Docker, and those of our own samples. The record on disk
   * follows it while our table is known to be unchanged; a restarted agent would write the table whole otherwise. Not
   * during an apply: the stamp may be newer than the table that is known then.
   */
  async followStamp(): Promise<void> {
    if (this.#guard.kernel !== 'undisturbed') return;
    const table = await this.#reconciler.table();
    if (table !== null) this.#disk.follow(table);
  }

  /** They change the kernel by themselves. */
  stopFilters(): void {
    this.#options.host.filters?.stop();
  }

  /** The table stays in the kernel. */
  async stop(): Promise<void> {
    const { deniedFlows, passed, earlyDrop } = this.#options.host;
    // Without rights there is no table to remove.
    await passed?.close().catch(() => {});
    // While the guard still notices a change of our table.
    await this.followStamp();
    this.#guard.stop();
    await Promise.all([this.#disk.stop(), deniedFlows?.stop()]);
    earlyDrop?.close();
  }

  /** Forgets results: what was applied in another mode does not count. */
  forgetApplied(): void {
    this.#applied = null;
  }

  /** Compiles policies ahead of the next apply. */
  compileAhead(policies: Iterable<Policy>, sees: Desired['settings']['sees']): void {
    this.#reconciler.compileAhead(policies, sees);
  }

  /** The verdict of the kernel's policies. Null before the first apply. */
  explain(packet: Packet): Omit<LiveVerdict, 'mode' | 'kernel'> | null {
    const { host, earlyDrop } = this.#options.host;
    const answer = this.#live.explain(packet, host.localAddresses());
    if (answer !== null && answer.target !== null) earlyDrop?.check(answer.target);
    return answer;
  }

  /** Enforces or checks, by the mode that was read last. Throws the errors of the kernel. */
  async apply(received: Desired, management: readonly ManagementPort[]): Promise<void> {
    const startMs = performance.now();
    const { watch, passed, deniedFlows, log } = this.#options.host;
    const { mode, disabled, canCheck } = this.#options.mode.state;
    const { settings } = received;
    const devices = this.#options.devices.resolve(settings.devices);
    // An edge that only observes samples nothing and loads no conntrack: it changes nothing in the kernel.
    watch?.enter(disabled ? [] : devices, mode === 'enforce' && settings.sees === 'both');
    passed?.enter(mode === 'enforce' ? devices : [], settings.sees);
    const wanted = withMore(received, devices, management);
    const desired = watch?.addOverlay(wanted) ?? wanted;
    if (mode === 'observe') {
      if (this.#applied?.generation === desired.generation) return;
      this.#applied = await this.#reconciler.check(desired, canCheck);
      await this.#save(received, this.#applied);
    } else {
      this.#applied = await this.#write(received, desired);
    }
    this.#live.set(desired, this.#applied);
    const { targets } = this.#reconciler;
    const onWrite = this.#options.applyAgain;
    if (mode === 'enforce' && targets !== null)
      deniedFlows?.applied({ desired, targets, live: this.#live, wrote: onWrite });
    this.#lastApplyMs = performance.now() - startMs;
    const { generation, policies, elements, refused } = this.#applied;
    log.debug({ generation, policies, elements, mode, ms: this.#lastApplyMs }, 'applied');
    if (refused.length > 0) log.error({ refused }, 'the kernel refused some policies');
  }

  /** `desired` is what was received, with what is specific to this host. */
  async #write(received: Desired, desired: Desired): Promise<Applied> {
    const { driver, watch, filters, reassembly, earlyDrop } = this.#options.host;
    const { mode, applyAgain } = this.#options;
    this.#guard.start();
    const present = mode.state.canCheck && (await driver.present());
    if (!present && mode.state.canCheck) this.#reconciler.invalidate();
    const repaired = this.#guard.startRepair();
    const before = this.#reconciler.targets;
    mode.startTrial();
    // Until both have the new rules, nftables gets every packet.
    earlyDrop?.suspendForwarding();
    const [applied] = await Promise.all([
      this.#reconciler.apply(desired),
      before === null ? earlyDrop?.prepare(desired) : null,
    ]);
    repaired();
    watch?.applied(applied.refused.map(({ target }) => target));
    // First of all, so that an agent killed later finds on disk what the kernel has.
    await this.#save(received, applied);
    const after = this.#reconciler.targets ?? new Map();
    // The content of a table that an earlier agent left is unknown; it is assumed to be unchanged.
    await filters?.applied(before ?? (present ? after : new Map()), after);
    await earlyDrop?.apply(desired, applied.refused);
    reassembly?.apply();
    // If the edge was disabled during the write, the table is back and must be removed again.
    if (mode.isOff()) applyAgain();
    return applied;
  }

  /** Runs before the confirmation: a restart must not fall behind what was confirmed. */
  async #save(received: Desired, { refused }: Applied): Promise<void> {
    await this.#disk.keep(received, refused, await this.#reconciler.table());
  }

  /** The operator disabled the edge: removes everything from the kernel. */
  async remove(): Promise<void> {
    const { driver, watch, passed, earlyDrop, reassembly, deniedFlows, log } = this.#options.host;
    watch?.enter([], false);
    // Removes its table at once: a reading since `edge off` may have written it again.
    await passed?.close();
    earlyDrop?.remove();
    reassembly?.restore();
    deniedFlows?.forget();
    const { canCheck, reason } = this.#options.mode.state;
    if (!canCheck || !(await driver.present())) return;
    await driver.remove();
    this.#reconciler.forget();
    this.#live.clear();
    log.warn({ reason }, 'enforcement is disabled: the table is removed');
  }
}
