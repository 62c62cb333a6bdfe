import type { LinkEvent } from '@portcullis/dataplane/kernel/netlink/links.ts';

/**
 * What the devices that the operator named are called by now. A device that was renamed is judged under its new name
 * too, for as long as it is there or until the operator names it so; a new device of the old name is judged as well.
 */
export class DeviceNames {
  /** Of renamed devices by index: the name that they had first, and now. */
  readonly #renamed = new Map<number, { readonly first: string; readonly now: string }>();

  follow(event: LinkEvent): void {
    if (event.kind === 'gone') this.#renamed.delete(event.index);
    if (event.kind !== 'renamed') return;
    const first = this.#renamed.get(event.index)?.first ?? event.before;
    if (first === event.name) this.#renamed.delete(event.index);
    else this.#renamed.set(event.index, { first, now: event.name });
  }

  /** The names that were given, and what else their devices are called now, sorted. */
  of(named: readonly string[]): readonly string[] {
    const more = [...this.#renamed.values()].filter(
      ({ first, now }) => named.includes(first) && !named.includes(now),
    );
    if (more.length === 0) return named;
    return [...named, ...more.map(({ now }) => now).toSorted()];
  }
}
