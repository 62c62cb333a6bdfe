import { describeKernelError } from '@portcullis/dataplane/kernel/describe-error.ts';
import { randomUUID } from 'node:crypto';
import { RefusedByControl } from '@portcullis/agent/request.ts';
import type { ManagementPort, Packet } from '@portcullis/core/firewall/packet.ts';
import type { EdgeAnswer, EdgeChanges, EdgeMode } from '@portcullis/link/messages/edge.ts';
import { AgentSession, type Intervals } from '@portcullis/agent/session.ts';
import type { AgentStatus, EdgeAgent, EdgeAgentOptions } from './agent-options.ts';
import { type Coalesced, coalesce } from '@portcullis/link/coalesce.ts';
import { Confirmation } from './confirmation.ts';
import { Enforcer } from './enforcer.ts';
import { MissedChanges } from './missed-changes.ts';
import { type Desired } from '@portcullis/dataplane/desired.ts';
import { managementOf, mergeChanges } from '../reconcile/desired.ts';
import { NamedDevices, type Reception } from '../host/devices.ts';
import { Reporter } from '../report/report.ts';
import { ControlClient } from './control-client.ts';
import { createMachineClock } from '../switch/machine-clock.ts';
import { ModeSwitch } from '../switch/mode.ts';

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

/** The mode that control counts this edge by. */
interface ReportedMode {
  readonly mode: EdgeMode;
  readonly reason: string | null;
}

class Agent implements EdgeAgent {
  readonly #options: EdgeAgentOptions;
  readonly #instance = randomUUID();
  readonly #control: ControlClient;
  readonly #session: AgentSession;
  readonly #mode: ModeSwitch;
  readonly #devices: NamedDevices;
  readonly #enforcer: Enforcer;
  readonly #reporter: Reporter;
  readonly #applying: Coalesced;
  readonly #confirmation: Confirmation;
  readonly #missed = new MissedChanges();
  /** The edge's name; empty before the first welcome. */
  #desired: Desired | null = null;
  /** Control has sent the whole state to this instance; before, `#desired` comes from disk. */
  #synced = false;
  #reception: Reception = { by: 'all', reason: null };
  #reportedReception: Reception | null = null;
  #isApplying = false;
  /** The state that was reported last; null before the start. */
  #reported: ReportedMode | null = null;
  #management: readonly ManagementPort[];
  #lastError: string | null = null;
  #stopMarkers = (): void => {};
  /** The reason and the problem of the last heartbeat. */
  #reportedState = '';
  #applyRetryMs = FIRST_RETRY_MS;
  #watch: NodeJS.Timeout | undefined;

  constructor(options: EdgeAgentOptions) {
    this.#options = options;
    const { driver, stateDir, log, link } = options;
    this.#management = options.management ?? [];
    this.#control = new ControlClient(link, this.#instance);
    const nowMs = (): number => (options.clock?.() ?? new Date()).getTime();
    this.#mode = new ModeSwitch({
      requested: options.mode,
      confirmWithinMs: options.confirmWithinMs ?? null,
      driver,
      stateDir,
      clock: options.machineClock ?? createMachineClock(),
      nowMs,
      log,
    });
    this.#devices = new NamedDevices(options.host);
    this.#applying = coalesce(() => this.#apply());
    this.#enforcer = new Enforcer({
      host: options,
      mode: this.#mode,
      devices: this.#devices,
      applyAgain: () => this.#applying.poke(),
      linksChanged: () => this.#checkDevices(),
    });
    this.#reporter = new Reporter({
      devices: this.#devices,
      control: this.#control,
      facts: { kernel: this.#enforcer.kernel, ...options.facts },
      log,
      nowMs,
    });
    this.#session = this.#createSession();
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
    this.#mode.settle();
    await this.#mode.read();
    this.#desired = await this.#enforcer.load();
    this.#checkDevices();
    this.#reported = this.#currentMode();
    const { link, watch } = this.#options;
    watch?.start({ instance: this.#instance, changed: () => this.#applying.poke() });
    link.onNotice((notice) => {
      if (notice.kind === 'edge.changed') this.#receive(notice.changes);
    });
    link.onCall(async (call) => (call.kind === 'edge.explain' ? this.#explain(call.packet) : null));
    this.#watch = setInterval(() => this.#poll(), this.#options.watchMs ?? WATCH_MS);
    this.#stopMarkers = this.#mode.watch(() => this.#applying.poke());
    this.#session.start();
    this.#applying.poke();
    return this.status();
  }

  async stop(): Promise<void> {
    clearInterval(this.#watch);
    this.#stopMarkers();
    const synced = this.#session.stop();
    this.#enforcer.stopFilters();
    await this.#options.link.close();
    await Promise.all([this.#options.watch?.stop(), synced, this.#applying.stop()]);
    await this.#confirmation.stop();
    await this.#enforcer.stop();
  }

  setManagement(ports: readonly ManagementPort[]): void {
    this.#management = ports;
    this.#options.log.info({ ports }, 'the management ports of this host changed');
    this.#applying.poke();
  }

  status(): AgentStatus {
    return {
      ...this.#currentMode(),
      generation: this.#enforcer.applied?.generation ?? 0,
      lastError: this.#problem(),
      isConfirmed: this.#mode.isConfirmed,
    };
  }

  #problem(): string | null {
    return this.#lastError ?? this.#enforcer.problem;
  }

  /** An edge without a device keeps its table: packets are filtered as soon as the device is there. */
  #currentMode(): ReportedMode {
    const { mode, reason } = this.#mode.state;
    const { by, reason: lack } = this.#reception;
    return mode === 'enforce' && by === 'none'
      ? { mode: 'no_device', reason: lack }
      : { mode, reason };
  }

  /** New generations. Those that this edge cannot apply by itself are fetched by a sync. */
  #receive(changes: EdgeChanges | null): void {
    const held = this.#desired;
    if (
      changes === null ||
      held === null ||
      !this.#synced ||
      !this.#session.greeted ||
      held.generation < changes.after ||
      held.sourceSets.version !== changes.sourceSetsVersion
    ) {
      if (changes === null || !this.#missed.keep(changes)) this.#session.poke();
    } else if (held.generation < changes.generation) {
      this.#hold(mergeChanges(held, changes));
    }
  }

  async #sync(): Promise<void> {
    this.#missed.begin();
    let missed: readonly EdgeChanges[];
    let desired: Desired;
    try {
      desired = await this.#fetch();
    } finally {
      // After a failure nothing is lost: the next sync begins later than they came.
      missed = this.#missed.end();
    }
    this.#take(desired);
    for (const changes of missed) this.#receive(changes);
  }

  #fetch(): Promise<Desired> {
    const known = this.#synced ? (this.#desired?.generation ?? 0) : 0;
    return this.#control.sync(this.#desired, known, ({ policies, settings }) =>
      this.#enforcer.compileAhead(policies, settings.sees),
    );
  }

  #take(desired: Desired): void {
    // Changes that came by themselves meanwhile may be newer.
    if (this.#synced && desired.generation < (this.#desired?.generation ?? 0)) return;
    this.#hold(desired);
  }

  #hold(desired: Desired): void {
    const held = this.#desired;
    const changed = desired.generation !== held?.generation;
    this.#desired = desired;
    this.#synced = true;
    const { generation } = desired;
    if (changed) this.#options.log.debug({ generation }, 'received a generation');
    // Looking at devices takes system calls; they change far less often than policies.
    const { devices } = desired.settings;
    if (String(devices) !== String(held?.settings.devices)) this.#checkDevices();
    this.#applying.poke();
  }

  async #hello(): Promise<Intervals> {
    const { mode, reason } = this.#currentMode();
    const welcome = await this.#control.hello(mode, reason);
    this.#reporter.greeted();
    this.#options.watch?.greeted();
    this.#confirmation.forget();
    const { generation } = welcome;
    this.#options.log.info({ mode, reason, generation }, 'joined control');
    return welcome;
  }

  async #apply(): Promise<number | null> {
    let synced = false;
    this.#isApplying = true;
    try {
      await this.#mode.read();
      this.#reportMode();
      if (this.#mode.state.disabled) await this.#enforcer.remove();
      const desired = this.#desired;
      // State from disk is not confirmed: it may come from another control plane.
      synced = this.#synced;
      if (desired !== null) await this.#enforcer.apply(desired, this.#management);
      this.#lastError = null;
      this.#applyRetryMs = FIRST_RETRY_MS;
    } catch (error) {
      this.#lastError = describeKernelError(error);
      this.#options.log.error({ error }, 'the desired state could not be applied to the kernel');
      const retryMs = this.#applyRetryMs;
      this.#applyRetryMs = Math.min(retryMs * 2, LONGEST_RETRY_MS);
      return retryMs;
    } finally {
      this.#isApplying = false;
    }
    if (synced) this.#confirm();
    // Only now: the report also says how the early drop is attached to each device.
    if (this.#reception !== this.#reportedReception) this.#session.pokeHeartbeat();
    return null;
  }

  /** An edge that observes, or has no device, confirms nothing. */
  #confirm(): void {
    const { applied } = this.#enforcer;
    if (this.#currentMode().mode !== 'enforce' || applied === null || !this.#session.greeted)
      return;
    this.#confirmation.send(applied);
  }

  /** Control counts this edge for live by its mode, so a changed mode is reported before anything else. */
  #reportMode(): void {
    const before = this.#reported;
    const { mode, reason } = this.#currentMode();
    if (before === null || (mode === before.mode && reason === before.reason)) return;
    this.#reported = { mode, reason };
    const { log } = this.#options;
    if (mode === 'no_device') log.error({ reason }, 'nothing is enforced: no device');
    else log.info({ mode, reason }, mode === 'enforce' ? 'enforcing' : 'observing');
    if (mode === before.mode) {
      this.#session.pokeHeartbeat();
      return;
    }
    this.#enforcer.forgetApplied();
    this.#confirmation.forget();
    this.#session.restart();
  }

  /** Cheap enough for each event and poll; devices are unknown before the first sync. */
  #checkDevices(): void {
    if (this.#desired === null) return;
    const { by, reason } = this.#reception;
    const now = this.#devices.reception(this.#desired.settings.devices);
    if (by !== now.by || reason !== now.reason) {
      this.#reception = now;
      if (now.by === 'some') this.#options.log.warn({ reason: now.reason }, 'a device is missing');
      this.#reportMode();
      this.#applying.poke();
    }
  }

  #poll(): void {
    if (!this.#isApplying) {
      this.#enforcer.followStamp().catch((error: unknown) => {
        this.#options.log.debug({ error }, 'the stamp of the ruleset cannot be read');
      });
    }
    this.#checkDevices();
    if (this.#mode.changed() || this.#options.earlyDrop?.needsApply() === true)
      this.#applying.poke();
    if (this.#reporter.isBehind(this.#desired?.settings.devices ?? []))
      this.#session.pokeHeartbeat();
    // A trial that was confirmed and an interference that is over are not shown any longer.
    if (this.#reportedState !== '' && this.#reportedState !== this.#stateText())
      this.#session.pokeHeartbeat();
  }

  #stateText(): string {
    return JSON.stringify([this.#currentMode().reason, this.#problem()]);
  }

  /** Null before this edge has loaded anything: control answers the caller by itself. */
  #explain(packet: Packet): EdgeAnswer | null {
    const verdict = this.#enforcer.explain(packet);
    if (verdict === null) return null;
    const { mode } = this.#currentMode();
    const kernel = (this.#options.facts?.kernel ?? this.#enforcer.kernel).state();
    return { kind: 'edge.verdict', live: { mode, kernel, ...verdict } };
  }

  async #report(): Promise<void> {
    const { mode, reason } = this.#currentMode();
    const { applied, lastApplyMs } = this.#enforcer;
    this.#reportedReception = this.#reception;
    this.#reportedState = this.#stateText();
    await this.#control.heartbeat({
      mode,
      modeReason: reason,
      generation: applied?.generation ?? 0,
      report: this.#reporter.compose(this.#desired?.settings.devices ?? [], {
        policies: applied?.policies ?? 0,
        elements: applied?.elements ?? 0,
        lastError: this.#problem(),
        lastApplyMs,
        management: managementOf(this.#desired, this.#management),
      }),
    });
    await this.#reporter.sendDrops();
  }
}
