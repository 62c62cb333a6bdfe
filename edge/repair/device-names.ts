import type { LinkEvent } from '@portcullis/dataplane/kernel/netlink/links.ts';

/**
 * Follows renames of the devices that the operator named. A renamed device keeps its protection under the new name,
 * until it disappears or the operator names it so; a new device with the old name is protected as well.
 */
export class DeviceNames {
  /** The first and the present name of renamed devices, by index. */
  readonly #renamed = new Map<number, { readonly first: string; readonly now: string }>();

  follow(event: LinkEvent): void {
    if (event.kind === 'gone') this.#renamed.delete(event.index);
    if (event.kind !== 'renamed') return;
    const first = this.#renamed.get(event.index)?.first ?? event.before;
    if (first === event.name) this.#renamed.delete(event.index);
    else this.#renamed.set(event.index, { first, now: event.name });
  }

  /** The given names and the present names of renamed devices, sorted. */
  withRenamed(named: readonly string[]): readonly string[] {
    const more = [...this.#renamed.values()].filter(
      ({ first, now }) => named.includes(first) && !named.includes(now),
    );
    if (more.length === 0) return named;
    return [...named, ...more.map(({ now }) => now).toSorted()];
  }
}
