import type { SourceSets, RefusedTarget } from '@portcullis/core/firewall/policy.ts';
import type { EdgeAssignment } from '@portcullis/core/firewall/packet.ts';
import type { CounterDriver } from '../counters/driver.ts';
import type { Desired } from '../desired.ts';
import type { DeviceMode, DeviceModes } from './devices/device-modes.ts';
import type { DropReading } from '../drops.ts';
import { describeError, type Log } from '@portcullis/core/log.ts';
import { changedKeys } from '../compile/changed-keys.ts';
import type { DropSource } from '../drops.ts';
import {
  AheadUnions,
  type AskedUnions,
  askedUnions,
  asksUnions,
  sameNames,
} from './compile/required-unions.ts';
import { Attachments } from './devices/attachments.ts';
import { Audit } from './audit.ts';
import { closes } from './flows/closing.ts';
import { EarlyCompilation } from './compile/compilation.ts';
import type { EarlyTarget } from './compile/early-target.ts';
import { type Device, leavingDevices } from './devices/device.ts';
import { DeviceLook } from './devices/device-look.ts';
import type { EarlyDropDriver, EarlySettings } from './driver/driver.ts';
import { readDrops } from './counting/counts.ts';
import type { Flow } from './flows/places.ts';
import { OpenFlows } from './flows/open-flows.ts';
import { PassedOn } from './flows/passed-on.ts';
import { protectedSides } from './flows/protected-sides.ts';

export interface EarlyDropOptions {
  readonly driver: EarlyDropDriver;
  readonly readDevice: (name: string) => Device | null;
  readonly deviceName: (ifindex: number) => string | null;
  /** Names of the devices that packets may leave by. */
  readonly listDevices: () => readonly string[];
  /** Shows everything that connection tracking knows, as replies to it come in. False: some may be missing. */
  readonly openFlows: (take: (flow: Flow) => void) => Promise<boolean>;
  readonly remember: () => EarlySettings['remember'];
  readonly log: Log;
}

/**
 * Keeps the early drop to what nftables judges by. It may drop less, never more: where it cannot be brought
 * up to date it is taken off. Nothing here fails an apply, for nftables is complete without it.
 */
export class EarlyDrop implements DeviceModes, DropSource {
  readonly name = 'the early drop';
  readonly #options: EarlyDropOptions;
  readonly #compilation = new EarlyCompilation();
  #loaded: ReadonlyMap<string, EarlyTarget> | null = null;
  #settings: EarlySettings | null = null;
  /** Unions of source sets that rules ask, and the data that they were filled from. */
  #asked: AskedUnions = new Map();
  #setsVersion = '';
  readonly #unions = new AheadUnions();
  readonly #devices: Attachments;
  readonly #deviceLook = new DeviceLook();
  readonly #audit: Audit;
  /** Why it cannot work at all; undefined: not asked yet. */
  #lack: string | null | undefined;
  readonly #flows: OpenFlows;
  /** What is about to judge. */
  #next: ReadonlyMap<string, EarlyTarget> = NOTHING;
  /** Indices of the devices whose outgoing packets are seen, and when that was last made sure of. */
  #watched: readonly number[] = [];
  #egressLookMs = -Infinity;
  /** Devices whose outgoing packets cannot be seen. */
  #unseen = 0;
  #problem: string | null = null;
  readonly #passedOn = new PassedOn();

  constructor(options: EarlyDropOptions) {
    this.#options = options;
    this.#devices = new Attachments(options.driver, options);
    this.#audit = new Audit(options.driver);
    this.#flows = new OpenFlows({
      read: options.openFlows,
      whatMatters: () => protectedSides(this.#next, this.#loaded ?? NOTHING),
      remember: (flows) => options.driver.remember(flows),
    });
  }

  /** What needs nothing of nftables, while the kernel takes a large table. Without it `apply` does the same. */
  async prepare({ policies, sourceSets }: Pick<Desired, 'policies' | 'sourceSets'>): Promise<void> {
    // nft is started first.
    await new Promise(setImmediate);
    if (typeof this.#lack === 'string') return;
    const targets = await this.#compilation.prepare(policies.values());
    const { driver } = this.#options;
    this.#found(
      await driver.prepare(targets, this.#unions.table(askedUnions(targets), sourceSets)),
    );
  }

  /** After nftables has it; `refused` it has not. */
  async apply(
    { policies, settings, sourceSets }: Omit<Desired, 'generation'>,
    refused: readonly RefusedTarget[],
  ): Promise<void> {
    if (!this.#able()) return;
    try {
      this.#deviceLook.begin();
      this.#devices.look(settings.devices);
      this.#next = this.#compilation.of(policies, refused);
      // One that is being read still may be without what matters now.
      if (!this.#flows.known) this.#flows.forget();
      const change = this.#planChange(this.#next, sourceSets);
      const first = this.#loaded === null;
      // Before the first it may have been prepared already. What judges goes on meanwhile, and so does everybody else.
      if (change.anew && !first) await this.#prepareAnew(change, sourceSets);
      if (change.closes && !first) await this.#learnBeforeClosing();
      const inherits = first && this.#options.driver.inherits();
      this.#load(change, this.#settingsFor(settings), sourceSets);
      if (inherits) await this.#learnWhileInherited();
      if (change.anew) this.#options.driver.enforce();
      this.#loaded = this.#next;
      this.#watchEgress();
      this.#devices.attach();
      this.#problem = null;
      await this.#takeUpAgain();
    } catch (error) {
      this.#giveUp(error);
      return;
    }
    await this.#learnFlows();
  }

  /**
   * Puts back at once what somebody took off, whatever else is under way: an apply may wait for nftables or for open
   * flows. Answers what was found, in words; null: nothing. Then there may be more to do, by the next `apply`.
   */
  repair(): string | null {
    if (this.#loaded === null) return null;
    try {
      const devices = this.#devices.repair();
      if (devices.length > 0) return `took our program off ${devices.join(', ')}`;
      if (!this.#audit.isDoubted && !this.#audit.look(this.#loaded)) return 'changed its maps';
      if (!this.#isEgressDue() || this.#options.driver.watches(this.#watched)) return null;
      this.#watchEgress();
      return 'took our program off what leaves, or a device is gone';
    } catch (error) {
      this.#giveUp(error);
      return 'made the early drop fail';
    }
  }

  /** Reads back what judges a target. False: somebody changed it, and the next `apply` puts all there anew. */
  check(target: string): boolean {
    return this.#loaded === null || this.#audit.check(target);
  }

  /** Devices came, went or changed their names, or somebody took our programs off: it is time to apply again. */
  disturbed(): boolean {
    if (this.#loaded === null) return false;
    const { driver } = this.#options;
    if (this.#audit.isDoubted || this.#flows.isDue || driver.again().length > 0) return true;
    if (!this.#deviceLook.isDue) return this.#devices.isOff || !driver.watches(this.#watched);
    this.#deviceLook.begin();
    const disturbed = !driver.watches(this.#leaving()) || this.#devices.disturbed();
    if (disturbed) this.#deviceLook.stir();
    return disturbed;
  }

  /** Devices are looked at when what this answers was called, and rarely otherwise: there may be hundreds. */
  followDevices(): () => void {
    this.#deviceLook.follow();
    return () => this.#deviceLook.stir();
  }

  /** Off every device: we observe, or somebody took our hands off. */
  remove(): void {
    if (!this.#able()) return;
    const { driver } = this.#options;
    try {
      this.#devices.remove();
      driver.watch([]);
    } catch (error) {
      this.#problem = `the early drop could not be taken off: ${describeError(error)}`;
    }
    this.#loaded = null;
    this.#flows.forget();
  }

  /** Leaves it in force. */
  close(): void {
    this.#options.driver.close();
  }

  get repairs(): number {
    return this.#devices.repairs + this.#audit.renewals;
  }

  problems(): string[] {
    const own = [this.#problem, this.#flows.problem].filter((problem) => problem !== null);
    if (this.#loaded === null) return own;
    return [...own, ...this.#passedOn.problems(this.#loaded, this.#options.driver.left().size)];
  }

  modeOf(device: string): DeviceMode {
    const nothing = { xdp: 'none', reason: this.#lack ?? 'nothing is loaded yet' } as const;
    return this.#devices.modeOf(device) ?? nothing;
  }

  /** Counts all that enters by the named devices; null: it does not see all of it. */
  counters(): CounterDriver | null {
    const sees = this.#loaded !== null && this.#devices.isComplete;
    return sees ? this.#options.driver.counters() : null;
  }

  async read(): Promise<DropReading> {
    if (this.#loaded === null) return { entries: [], samples: [] };
    return readDrops(this.#options.driver, (ifindex) => this.#devices.nameOf(ifindex));
  }

  #able(): boolean {
    if (this.#lack === undefined) this.#found(this.#options.driver.probe());
    return this.#lack === null;
  }

  #found(lack: string | null): void {
    this.#lack = lack;
    if (lack !== null) this.#options.log.warn({ reason: lack }, 'no early drop');
  }

  /** What is loaded is to become this. */
  #planChange(next: ReadonlyMap<string, EarlyTarget>, sourceSets: SourceSets): PlannedChange {
    const before = this.#loaded ?? NOTHING;
    const left = this.#options.driver.left();
    const changed = changedKeys(before, next);
    const asks = changed.some((name) => asksUnions(before.get(name)) || asksUnions(next.get(name)));
    const asked = asks ? askedUnions(next.values()) : this.#asked;
    const refilled = asked.size > 0 && sourceSets.version !== this.#setsVersion;
    const anew =
      this.#loaded === null || this.#audit.isDoubted || refilled || !sameNames(asked, this.#asked);
    const mayClose = (name: string): boolean =>
      left.has(name) || closes(before.get(name), next.get(name));
    return {
      set: changed.flatMap((name) => next.get(name) ?? []),
      gone: changed.filter((name) => !next.has(name)),
      // Nobody had to remember the flows of what had no room.
      closes: (anew && left.size > 0) || changed.some(mayClose),
      asked,
      anew,
    };
  }

  async #prepareAnew({ asked }: PlannedChange, sets: SourceSets): Promise<void> {
    const targets = [...this.#next.values()];
    await this.#options.driver.prepare(targets, this.#unions.table(asked, sets));
  }

  #load({ set, gone, asked, anew }: PlannedChange, wanted: EarlySettings, sets: SourceSets): void {
    const { driver } = this.#options;
    if (anew) {
      this.#settings = wanted;
      driver.load([...this.#next.values()], wanted, this.#unions.table(asked, sets));
      this.#unions.forget();
      this.#audit.renewed();
    } else {
      // What is about to be closed is marked until it is.
      const marksAll = wanted.marksAll || this.#settings?.marksAll === true;
      this.#configure({ ...wanted, marksAll });
      if (set.length + gone.length > 0) driver.change(set, gone);
      this.#configure(wanted);
    }
    this.#asked = asked;
    this.#setsVersion = sets.version;
  }

  /** What had no room, and has now. Nobody remembered its flows: that is done first. */
  async #takeUpAgain(): Promise<void> {
    const { driver } = this.#options;
    const again = driver.again();
    if (again.length === 0 || this.#settings === null) return;
    await this.#learnBeforeClosing();
    this.#configure({ ...this.#settings, flowsComplete: this.#flows.known });
    driver.change(again, []);
    this.#sayWhatIsKnown();
  }

  #settingsFor({ sees, management }: EdgeAssignment): EarlySettings {
    return {
      keepReplies: sees === 'both',
      flowsComplete: this.#flows.known,
      marksAll: !this.#flows.known,
      management: [...management],
      vlans: this.#devices.vlans(),
      remember: this.#options.remember(),
    };
  }

  /** Indices of the devices that packets leave by, each of them once. */
  #leaving(): number[] {
    const { listDevices, readDevice } = this.#options;
    return leavingDevices(listDevices().flatMap((name) => readDevice(name) ?? []));
  }

  #watchEgress(): void {
    const { driver } = this.#options;
    const leaving = this.#leaving();
    // Also where an earlier agent left it so.
    [this.#watched, this.#unseen] = [leaving, 0];
    if (driver.watches(leaving)) return;
    // What left by another device before is not known: until it is, replies must not be dropped.
    this.#flows.forget();
    this.#sayWhatIsKnown();
    const unseen = driver.watch(leaving);
    this.#watched = leaving.filter((ifindex) => !unseen.includes(ifindex));
    this.#unseen = unseen.length;
  }

  /** There may be hundreds of devices. */
  #isEgressDue(): boolean {
    const nowMs = performance.now();
    if (nowMs - this.#egressLookMs < EGRESS_LOOK_MS) return false;
    this.#egressLookMs = nowMs;
    return true;
  }

  /** What judges goes on, and drops as before, until nothing is missing for what is about to judge. */
  async #learnBeforeClosing(): Promise<void> {
    if (this.#settings === null || !this.#settings.keepReplies || !this.#flows.known) return;
    this.#configure({ ...this.#settings, marksAll: true });
    this.#flows.forget();
    await within(this.#flows.learn(), LONGEST_WAIT_MS);
  }

  /** The same for what an earlier agent left, before it is replaced. */
  async #learnWhileInherited(): Promise<void> {
    if (this.#settings?.keepReplies !== true) return;
    this.#watchEgress();
    if (this.#unseen === 0) await within(this.#flows.learn(), LONGEST_WAIT_MS);
    this.#sayWhatIsKnown();
  }

  /** Flows that began before the programs were there are learnt from connection tracking. */
  async #learnFlows(): Promise<void> {
    if (this.#settings?.keepReplies !== true) return this.#flows.rest(null);
    if (this.#flows.known) return;
    if (this.#unseen > 0) {
      this.#flows.rest(
        'what leaves cannot be watched on every device: only SYNs are dropped early',
      );
      return;
    }
    await this.#flows.learn();
    this.#sayWhatIsKnown();
  }

  #sayWhatIsKnown(): void {
    if (this.#settings === null) return;
    const { known } = this.#flows;
    this.#configure({ ...this.#settings, flowsComplete: known, marksAll: !known });
  }

  #configure(settings: EarlySettings): void {
    if (JSON.stringify(settings) === JSON.stringify(this.#settings)) return;
    this.#options.driver.configure(settings);
    this.#settings = settings;
  }

  #giveUp(error: unknown): void {
    this.#options.log.error({ error }, 'the early drop failed and is taken off');
    this.remove();
    this.#problem = `the early drop failed: ${describeError(error)}`;
  }
}

interface PlannedChange {
  readonly set: readonly EarlyTarget[];
  readonly gone: readonly string[];
  /** See closing.ts. */
  readonly closes: boolean;
  readonly asked: AskedUnions;
  /** Maps are to be made anew. */
  readonly anew: boolean;
}

/** A change that closes something waits so long for open flows, and is then made without them. */
const LONGEST_WAIT_MS = 250;
const EGRESS_LOOK_MS = 1_000;

const NOTHING: ReadonlyMap<string, EarlyTarget> = new Map();

async function within(work: Promise<void>, ms: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, ms)));
  await Promise.race([work, late]);
  clearTimeout(timer);
}
