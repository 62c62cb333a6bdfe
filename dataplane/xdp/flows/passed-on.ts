import { changedKeys } from '../../compile/changed-keys.ts';
import { type EarlyTarget } from '../compile/early-target.ts';
import { isPassedOn } from '../compile/compile.ts';

type Targets = ReadonlyMap<string, EarlyTarget>;

/** How many targets are left to nftables whole, and why: only what changed since the last count is looked at. */
export class PassedOn {
  #targets: Targets = new Map();
  #count = 0;

  /** In words. `withoutRoom`: so many of them, whatever their rules. */
  problems(now: Targets, withoutRoom: number): string[] {
    const passedOn = this.#passedOn(now);
    return [
      ...(passedOn === 0 ? [] : [`${passedOn} targets have too many kinds of rules to drop early`]),
      ...(withoutRoom === 0
        ? []
        : [`${withoutRoom} targets have no room in the early drop: nftables judges them`]),
    ];
  }

  #passedOn(now: Targets): number {
    const before = this.#targets;
    const among = (map: Targets, names: readonly string[]): number =>
      names.filter((name) => isPassedOn(map.get(name))).length;
    const changed = changedKeys(before, now);
    this.#count += among(now, changed) - among(before, changed);
    this.#targets = now;
    return this.#count;
  }
}
