import { randomUUID } from 'node:crypto';
import { RefusedByControl } from '@portcullis/agent/request.ts';
import type { ManagementPort } from '@portcullis/core/firewall/packet.ts';
import type { Question } from '@portcullis/link/messages/edge.ts';
import { AgentSession, type Intervals } from '@portcullis/agent/session.ts';
import type { AgentStatus, EdgeAgent, EdgeAgentOptions } from './agent-options.ts';
import { type Coalesced, coalesce } from '@portcullis/agent/coalesce.ts';
import { Confirmation } from './confirmation.ts';
import { type Desired } from '@portcullis/dataplane/desired.ts';
import { managementOf, withMore } from '../reconcile/desired.ts';
import { warnOfDevices } from '../host/devices.ts';
import { Guard, kernelWatch } from '../repair/guard.ts';
import { readDisabled, readTrial, settleTrial, startTrial } from '../switch/switch-files.ts';
import { LivePolicies } from '../report/live-policies.ts';
import { MarkerWatch } from '../switch/marker-watch.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { DEFAULT_LIMITS } from '@portcullis/dataplane/nftables/table/edge-rules.ts';
import type { Filtering } from '@portcullis/dataplane/nftables/filters/compile.ts';
import { type Applied, Reconciler } from '../reconcile/reconcile.ts';
import { Reporter } from '../report/report.ts';
import { ControlClient } from './control-client.ts';
import { Disk } from '../state/disk.ts';
import { createMachineClock, type MachineClock } from '../switch/machine-clock.ts';
import { type ModeState, readMode } from '../switch/mode.ts';

const WATCH_MS = 1_000;
const FIRST_RETRY_MS = 500;
const LONGEST_RETRY_MS = 30_000;

/**
 * Receiving and applying are separate: a sync changes `#desired` and nothing else; an apply brings the kernel to the
 * desired state of that moment. Each runs once at a time and covers all requests that arrived meanwhile.
 */
export function createEdgeAgent(options: EdgeAgentOptions): EdgeAgent {
  return new Agent(options);
}

class Agent implements EdgeAgent {
  readonly #options: EdgeAgentOptions;
  readonly #log: Log;
  readonly #instance = randomUUID();
  readonly #clock: MachineClock;
  readonly #control: ControlClient;
  readonly #session: AgentSession;
  readonly #reconciler: Reconciler;
  readonly #reporter: Reporter;
  readonly #disk: Disk;
  readonly #markers: MarkerWatch;
  readonly #guard: Guard;
  readonly #applying: Coalesced;
  readonly #confirmation: Confirmation;
  #mode: ModeState = { mode: 'observe', reason: 'starting', disabled: false, canCheck: false };
  readonly #live = new LivePolicies();
  /** The edge's name; empty before the first welcome. */
  #name = '';
  /** The devices that the operator named for this edge. */
  #devices: readonly string[] = [];
  #desired: Desired | null = null;
  /** Control has sent the whole state to this instance; before, `#desired` comes from disk. */
  #synced = false;
  #applied: Applied | null = null;
  #started = false;
  #management: readonly ManagementPort[];
  #lastError: string | null = null;
  #lastApplyMs: number | null = null;
  #applyRetryMs = FIRST_RETRY_MS;
  #watch: NodeJS.Timeout | undefined;

  constructor(options: EdgeAgentOptions) {
    this.#options = options;
    this.#management = options.management ?? [];
    this.#log = options.log;
    this.#clock = options.machineClock ?? createMachineClock();
    this.#control = new ControlClient(options.link, this.#instance);
    const serverAt: Filtering['serverAt'] = (address, port) =>
      options.filters?.serverAt(address, port) ?? null;
    const limits = options.limits ?? DEFAULT_LIMITS;
    this.#reconciler = new Reconciler(options.driver, limits, { serverAt }, options.deniedFlowFile);
    options.filters?.onServers((addresses) => {
      this.#reconciler.recompile(addresses);
      this.#applying.poke();
    });
    const { host, log } = options;
    this.#disk = new Disk(options.stateDir, log);
    this.#markers = new MarkerWatch(options.stateDir, log);
    this.#guard = new Guard({
      driver: options.driver,
      watchLinks: options.watchLinks ?? null,
      earlyDrop: options.earlyDrop ?? null,
      log,
      enforcing: () => this.#mode.mode === 'enforce' && !this.#isSwitchedOff(),
      invalidate: () => this.#reconciler.invalidate(),
      repair: () => this.#applying.poke(),
    });
    this.#reporter = new Reporter({
      host,
      control: this.#control,
      facts: { kernel: kernelWatch(this.#guard, options.earlyDrop ?? null), ...options.facts },
      log,
      nowMs: () => this.#nowMs(),
    });
    this.#session = this.#createSession();
    this.#applying = coalesce(() => this.#apply());
    this.#confirmation = new Confirmation({
      send: (what) => this.#control.confirm(what),
      failed: (error) => {
        if (error instanceof RefusedByControl && error.code === 'stale') return;
        if (this.#session.failed(error)) this.#session.poke();
      },
    });
  }

  #createSession(): AgentSession {
    const { link, log, watch } = this.#options;
    return new AgentSession({
      link,
      log,
      awayMessage: 'the connection to control is lost; enforcement continues',
      hello: () => this.#hello(),
      sync: () => this.#sync(),
      heartbeat: () => this.#report(),
      collect: () => void this.#reporter.collect(),
      resync: () => watch?.resync(),
      // The kernel keeps what it has until control has sent everything.
      reset: () => (this.#synced = false),
    });
  }

  async start(): Promise<AgentStatus> {
    const { mode, confirmWithinMs = null, stateDir } = this.#options;
    if (mode === 'enforce' && confirmWithinMs === null) settleTrial(stateDir, this.#clock);
    await this.#readMode();
    const hasTable = this.#mode.canCheck && (await this.#options.driver.present());
    this.#desired = this.#disk.load(hasTable);
    this.#reconciler.expect(this.#disk.knownTable());
    if (this.#options.mode === 'observe') {
      this.#disk.removeTable();
      // Unlike the table, it can only be this agent's; an observing edge drops nothing.
      this.#options.earlyDrop?.remove();
    }
    const { link, watch } = this.#options;
    watch?.start({ instance: this.#instance, changed: () => this.#applying.poke() });
    link.onNotice((notice) => {
      if (notice.kind === 'generation') this.#session.poke();
      else if (notice.kind === 'question' && notice.edges.includes(this.#name))
        void this.#answer(notice);
    });
    this.#watch = setInterval(() => this.#poll(), this.#options.watchMs ?? WATCH_MS);
    this.#session.start();
    this.#started = true;
    this.#applying.poke();
    return this.status();
  }

  async stop(): Promise<void> {
    clearInterval(this.#watch);
    const synced = this.#session.stop();
    this.#options.filters?.stop();
    this.#guard.stop();
    await this.#options.link.close();
    const { watch } = this.#options;
    await Promise.all([watch?.stop(), synced, this.#applying.stop()]);
    await this.#confirmation.stop();
    const { deniedFlows } = this.#options;
    // Without rights there is no table to remove.
    const sampling = this.#options.passed?.close().catch(() => {});
    await Promise.all([this.#disk.stop(), deniedFlows?.stop(), sampling]);
    this.#options.earlyDrop?.close();
  }

  setManagement(ports: readonly ManagementPort[]): void {
    this.#management = ports;
    this.#log.info({ ports }, 'the management ports of this host changed');
    this.#applying.poke();
  }

  status(): AgentStatus {
    return {
      mode: this.#mode.mode,
      reason: this.#mode.reason,
      generation: this.#applied?.generation ?? 0,
      lastError: this.#problem(),
      isConfirmed: readTrial(this.#options.stateDir)?.confirmed === true,
    };
  }

  #problem(): string | null {
    return this.#lastError ?? this.#guard.problem ?? this.#disk.problem;
  }

  async #sync(): Promise<void> {
    const known = this.#synced ? (this.#desired?.generation ?? 0) : 0;
    const desired = await this.#control.sync(this.#desired, known, ({ policies, settings }) =>
      this.#reconciler.compileAhead(policies, settings.sees),
    );
    if (desired.generation < known) return;
    const changed = desired.generation !== this.#desired?.generation;
    this.#desired = desired;
    this.#synced = true;
    if (changed) this.#log.debug({ generation: desired.generation }, 'received a generation');
    this.#applying.poke();
  }

  async #hello(): Promise<Intervals> {
    const { mode, reason } = this.#mode;
    const welcome = await this.#control.hello(mode, reason);
    this.#reporter.greeted();
    this.#options.watch?.greeted();
    this.#devices = welcome.settings.devices;
    this.#name = welcome.settings.name;
    this.#confirmation.forget();
    warnOfDevices(this.#devices, this.#options.host, this.#log);
    this.#log.info({ mode, reason, generation: welcome.generation }, 'joined control');
    return welcome;
  }

  async #apply(): Promise<number | null> {
    let synced = false;
    try {
      await this.#readMode();
      if (this.#mode.disabled) await this.#removeEverything();
      const desired = this.#desired;
      // State from disk is not confirmed: it may come from another control plane.
      synced = this.#synced;
      if (desired !== null) {
        await this.#enforce(desired);
      }
      this.#lastError = null;
      this.#applyRetryMs = FIRST_RETRY_MS;
    } catch (error) {
      this.#lastError = describeError(error);
      this.#log.error({ error }, 'the desired state could not be applied to the kernel');
      const retryMs = this.#applyRetryMs;
      this.#applyRetryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
      return retryMs;
    }
    if (synced) this.#confirm();
    return null;
  }

  async #enforce(received: Desired): Promise<void> {
    const startMs = performance.now();
    const devices = this.#guard.devices(received.settings.devices);
    const { watch } = this.#options;
    watch?.enter(this.#mode.disabled ? [] : devices);
    this.#sample(this.#mode.mode === 'enforce' ? devices : [], received);
    const wanted = withMore(received, devices, this.#management);
    const desired = watch?.addOverlay(wanted) ?? wanted;
    if (this.#mode.mode === 'observe') {
      if (this.#applied?.generation === desired.generation) return;
      this.#applied = await this.#reconciler.check(desired, this.#mode.canCheck);
      await this.#save(received);
    } else {
      this.#guard.start();
      const present = this.#mode.canCheck && (await this.#options.driver.present());
      if (!present && this.#mode.canCheck) this.#reconciler.invalidate();
      const repaired = this.#guard.startRepair();
      const before = this.#reconciler.targets;
      this.#startTrial();
      const { earlyDrop } = this.#options;
      [this.#applied] = await Promise.all([
        this.#reconciler.apply(desired),
        before === null ? earlyDrop?.prepare(desired) : null,
      ]);
      repaired();
      watch?.applied(this.#applied.refused.map(({ target }) => target));
      // First of all, so that an agent killed later finds on disk what the kernel has.
      await this.#save(received);
      const after = this.#reconciler.targets ?? new Map();
      // The content of a table that an earlier agent left is unknown; it is assumed to be unchanged.
      await this.#options.filters?.applied(before ?? (present ? after : new Map()), after);
      await earlyDrop?.apply(desired, this.#applied.refused);
      this.#options.reassembly?.apply();
      // If the edge was disabled during the write, the table is back and must be removed again.
      if (readDisabled(this.#options.stateDir) !== null) this.#applying.poke();
    }
    this.#live.set(desired, this.#applied);
    const { targets } = this.#reconciler;
    const onWrite = (): void => this.#applying.poke();
    if (this.#mode.mode === 'enforce' && targets !== null)
      this.#options.deniedFlows?.applied({ desired, targets, live: this.#live, wrote: onWrite });
    this.#lastApplyMs = performance.now() - startMs;
    const { generation, policies, elements, refused } = this.#applied;
    const { mode } = this.#mode;
    this.#log.debug({ generation, policies, elements, mode, ms: this.#lastApplyMs }, 'applied');
    if (refused.length > 0) this.#log.error({ refused }, 'the kernel refused some policies');
  }

  /** An edge that only observes samples nothing: it changes nothing in the kernel. */
  #sample(devices: readonly string[], desired: Desired | null): void {
    this.#options.passed?.enter(devices, desired?.settings.sees ?? 'both');
  }

  /** Runs before the confirmation: a restart must not fall behind what was confirmed. */
  async #save(received: Desired): Promise<void> {
    const refused = this.#applied?.refused ?? [];
    await this.#disk.keep(received, refused, await this.#reconciler.table());
  }

  /** An observing edge confirms nothing. */
  #confirm(): void {
    if (this.#mode.mode !== 'enforce' || this.#applied === null || !this.#session.greeted) return;
    this.#confirmation.send(this.#applied);
  }

  async #readMode(): Promise<void> {
    const { driver, stateDir, mode: requested } = this.#options;
    const before = this.#mode;
    const [clock, works] = [this.#clock, before.canCheck];
    const nowMs = (): number => this.#nowMs();
    this.#mode = await readMode({ requested, driver, stateDir, clock, nowMs, works });
    const { mode, reason } = this.#mode;
    if (mode === before.mode && reason === before.reason) return;
    this.#log.info({ mode, reason }, mode === 'enforce' ? 'enforcing' : 'observing');
    // Heartbeats carry another reason.
    if (mode === before.mode) return;
    this.#applied = null;
    this.#confirmation.forget();
    if (!this.#started) return;
    // Control counts this edge for `live` by its mode, so hello comes before anything else.
    this.#session.restart();
  }

  async #removeEverything(): Promise<void> {
    this.#options.watch?.enter([]);
    // Removes its table at once: a reading since `edge off` may have written it again.
    await this.#options.passed?.close();
    this.#options.earlyDrop?.remove();
    this.#options.reassembly?.restore();
    this.#options.deniedFlows?.forget();
    if (!this.#mode.canCheck || !(await this.#options.driver.present())) return;
    await this.#options.driver.remove();
    this.#reconciler.forget();
    this.#live.clear();
    this.#log.warn({ reason: this.#mode.reason }, 'enforcement is disabled: the table is removed');
  }

  #startTrial(): void {
    const { confirmWithinMs, stateDir } = this.#options;
    if (confirmWithinMs === undefined || confirmWithinMs === null) return;
    startTrial(stateDir, confirmWithinMs, this.#clock);
  }

  #poll(): void {
    const changed = this.#markers.changed(this.#mode.disabled, this.#clock);
    if (changed || this.#options.earlyDrop?.needsApply() === true) this.#applying.poke();
  }

  /** `edge off` removes the table before this agent polls the marker: that is no other program. */
  #isSwitchedOff(): boolean {
    try {
      return readDisabled(this.#options.stateDir) !== null;
    } catch {
      // Unreadable markers disable nothing.
      return false;
    }
  }

  /** Without an answer in time control answers the caller by itself. */
  async #answer({ id, packet }: Question): Promise<void> {
    const { mode } = this.#mode;
    const answer = this.#live.explain(packet, this.#options.host.localAddresses());
    if (answer === null || !this.#session.greeted) return;
    if (answer.target !== null) this.#options.earlyDrop?.check(answer.target);
    const kernel = this.#reporter.kernel();
    await this.#control
      .answer({ id, answer: { mode, kernel, ...answer } })
      .catch((error: unknown) => this.#log.debug({ error }, 'control did not receive an answer'));
  }

  async #report(): Promise<void> {
    const { mode, reason } = this.#mode;
    const named = this.#desired?.settings.devices ?? this.#devices;
    await this.#control.heartbeat({
      mode,
      modeReason: reason,
      generation: this.#applied?.generation ?? 0,
      report: this.#reporter.compose(this.#guard.devices(named), {
        policies: this.#applied?.policies ?? 0,
        elements: this.#applied?.elements ?? 0,
        lastError: this.#problem(),
        lastApplyMs: this.#lastApplyMs,
        management: managementOf(this.#desired, this.#management),
      }),
    });
    await this.#reporter.sendDrops();
  }

  #nowMs(): number {
    return (this.#options.clock?.() ?? new Date()).getTime();
  }
}
