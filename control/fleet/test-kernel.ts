import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Policy, SourceSets } from '@portcullis/core/firewall/policy.ts';
import type { MemoryLink } from '@portcullis/link/transport/memory.ts';
import { TestEdge } from './test-edge.ts';

/** A policy with the lists of blocked sources that it names. */
export interface Enforced {
  readonly policy: Policy;
  readonly lists: readonly (readonly string[])[];
}

export function enforcedOf(policy: Policy, sets: SourceSets['sets']): Enforced {
  return { policy, lists: policy.blocked.map((name) => sets[name] ?? []) };
}

/**
 * An edge with a kernel, for properties: each step does what an agent does at some time, in any order. Its kernel may refuse
 * addresses, and may lose them.
 */
export class KernelEdge {
  readonly name: string;
  /** The policies that packets are filtered by. */
  readonly kernel = new Map<string, Enforced>();
  #side: TestEdge;
  #link: MemoryLink;
  #instance: string = randomUUID();
  #generation = 0;
  /** The targets that are not as desired, with their generation in the kernel. */
  readonly #behind = new Map<string, number>();
  readonly #refusing = new Set<string>();
  #isGreeted = false;

  constructor(name: string, link: MemoryLink) {
    this.name = name;
    this.#link = link;
    this.#side = new TestEdge(link, name, this.#instance);
  }

  close(): Promise<void> {
    return this.#side.close();
  }

  /** Syncs, also where control does not know this instance any more. `between` runs between two pages. */
  async sync(between: () => Promise<void> = async () => {}): Promise<void> {
    if (!this.#isGreeted) {
      await this.#side.hello();
      this.#isGreeted = true;
    }
    const pages = [];
    let cursor: string | null = null;
    do {
      const reply = await this.#side.page(cursor);
      if (reply.kind !== 'edge.page') return this.#reset();
      pages.push(reply);
      cursor = reply.next;
      if (cursor !== null) await between();
    } while (cursor !== null);
    this.#side.apply(pages);
    await this.#enforce();
  }

  /** Takes the notices that have arrived. */
  async deliver(): Promise<void> {
    if (!this.#isGreeted || this.#side.generation === 0) return;
    for (const changes of this.#side.notices.splice(0)) {
      if (changes === null || !this.#side.take(changes)) return this.sync();
    }
    await this.#enforce();
  }

  lose(): void {
    this.#side.notices.length = 0;
  }

  /** The kernel refuses changes of this target from now on. */
  refuse(target: string): void {
    this.#refusing.add(target);
  }

  /** The kernel lost this target, and refuses it: the agent confirms at once what is left. */
  async forget(target: string): Promise<void> {
    if (!this.#isGreeted || this.#generation === 0) return;
    this.#refusing.add(target);
    this.kernel.delete(target);
    if (this.#side.policies.has(target)) this.#behind.set(target, 0);
    await this.#confirm();
  }

  /** The kernel refuses nothing any more, and the agent tries again. */
  async heal(): Promise<void> {
    this.#refusing.clear();
    if (this.#isGreeted && this.#side.generation > 0) await this.#enforce();
  }

  /** Another process takes over, with nothing but the kernel. */
  async restart(): Promise<void> {
    this.#instance = randomUUID();
    await this.move(this.#link);
    this.#side = new TestEdge(this.#link, this.name, this.#instance);
  }

  /** The same process connects to another replica. */
  async move(link: MemoryLink): Promise<void> {
    const before = this.#side;
    await before.close();
    this.#link = link;
    this.#side = new TestEdge(link, this.name, this.#instance);
    this.#side.generation = before.generation;
    this.#side.sourceSets = before.sourceSets;
    for (const [target, policy] of before.policies) this.#side.policies.set(target, policy);
    this.#isGreeted = false;
  }

  async #enforce(): Promise<void> {
    const { policies, generation, sourceSets } = this.#side;
    const targets = [policies, this.kernel, this.#behind].flatMap((known) => [...known.keys()]);
    for (const target of new Set(targets)) {
      const policy = policies.get(target);
      const wanted = policy && enforcedOf(policy, sourceSets?.sets ?? {});
      const isThere = isDeepStrictEqual(this.kernel.get(target), wanted);
      if (wanted !== undefined && this.#refusing.has(target) && !isThere) {
        const had = this.kernel.has(target) ? this.#generation : 0;
        this.#behind.set(target, this.#behind.get(target) ?? had);
        continue;
      }
      this.#behind.delete(target);
      if (wanted === undefined) this.kernel.delete(target);
      else this.kernel.set(target, wanted);
    }
    this.#generation = generation;
    await this.#confirm();
  }

  async #confirm(): Promise<void> {
    const reason = 'a test';
    const refused = [...this.#behind].map(([target, goodGeneration]) => ({
      target,
      reason,
      goodGeneration,
    }));
    const reply = await this.#side.confirm(this.#generation, refused);
    if (reply.kind === 'refused' && reply.code === 'resync') this.#reset();
  }

  /** Control asks for everything: what it has may come from another control plane. */
  #reset(): void {
    this.#isGreeted = false;
    this.#side.generation = 0;
  }
}
