import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Egg } from '@portcullis/core/game-servers/egg.ts';
import type {
  PowerSignal,
  ServerAssignment,
  ServerState,
} from '@portcullis/core/game-servers/power.ts';
import type { NodeAnswer, ServerBuild } from '@portcullis/link/messages/node.ts';
import type { NodeAgent } from '../agent.ts';
import { createNode, type NodeOptions } from '../create-node.ts';
import { FakeEngine } from '../engine/fake.ts';
import { Journal } from '../journal/journal.ts';
import { NODE, TestControl } from './control.ts';
import { assignmentOf, EGG, uuidOf } from './eggs.ts';

const log = { debug() {}, info() {}, warn() {}, error() {} };
const TIMEOUT_MS = 30_000;

/**
 * A game host on which everything except the engine is real: the agent, its journal on the disk, the link to control.
 */
export class TestHost {
  readonly control = new TestControl();
  readonly stateDir = mkdtempSync(join(tmpdir(), 'portcullis-node-'));
  engine = new FakeEngine();
  agent: NodeAgent | null = null;
  readonly #changes: Partial<NodeOptions>;

  constructor(t: TestContext, changes: Partial<NodeOptions> = {}) {
    this.#changes = changes;
    t.after(async () => {
      await this.agent?.stop();
      await this.control.close();
      rmSync(this.stateDir, { recursive: true, force: true });
    });
  }

  /** An agent over the present journal and engine. */
  begin(): void {
    this.agent = createNode({
      name: NODE,
      link: this.control.connect(),
      engine: this.engine,
      stateDir: this.stateDir,
      accounts: null,
      applyConfigFiles: async () => [],
      log,
      ...this.#changes,
    });
    this.agent.start();
  }

  /** Ends the agent as if it was killed: its objects are dropped without a shutdown. */
  async restart(): Promise<void> {
    await this.agent?.stop();
    this.engine = new FakeEngine(this.engine);
    this.begin();
  }

  /** Builds this number of servers of one egg. Resolves with their uuids. */
  async servers(
    count: number,
    egg: Egg = EGG,
    changes: Partial<ServerAssignment> = {},
  ): Promise<string[]> {
    const digest = createHash('sha256').update(JSON.stringify(egg)).digest('hex');
    const numbers = Array.from({ length: count }, (_, index) => index + 1);
    const assigned = numbers.map((number) => assignmentOf(number, digest, changes));
    this.control.assign(assigned, { [digest]: egg });
    if (this.agent === null) this.begin();
    await Promise.all(numbers.map((number) => this.built(uuidOf(number))));
    return numbers.map(uuidOf);
  }

  /** Waits until the journal has assignments that are all like this. */
  async knows(isSo: (server: ServerAssignment) => boolean): Promise<void> {
    const known = () => new Journal(this.stateDir, log).loadAssignments()?.servers ?? [];
    await until(async () => known().length > 0 && known().every(isSo));
  }

  async server(egg: Egg = EGG, changes: Partial<ServerAssignment> = {}): Promise<string> {
    const [uuid] = await this.servers(1, egg, changes);
    return uuid as string;
  }

  built(uuid: string): Promise<ServerBuild> {
    return this.control.reported(uuid, ({ state }) => state === 'built' || state === 'failed');
  }

  power(uuid: string, signal: PowerSignal): Promise<NodeAnswer | null> {
    return this.control.call(uuid, { kind: 'power', signal });
  }

  /** Null: unknown to the node. */
  async state(uuid: string): Promise<ServerState | null> {
    const answer = await this.control.call(uuid, { kind: 'look' });
    return answer?.kind === 'state' ? answer.state : null;
  }

  /** Polls like callers of the API; rejects after a timeout. */
  async becomes(uuid: string, wanted: ServerState | null): Promise<void> {
    let last: ServerState | null | undefined;
    let lines: readonly string[] = [];
    const isSo = async (): Promise<boolean> => {
      last = await this.state(uuid);
      lines = await this.lines(uuid);
      return last === wanted;
    };
    await until(isSo, () => `the server is ${last}, not ${wanted}: ${lines.join('; ')}`);
  }

  /** Waits until its instance was started this number of times and runs. */
  async started(uuid: string, times: number): Promise<void> {
    await until(async () => this.count('start', uuid) >= times);
    await this.becomes(uuid, 'running');
  }

  async lines(uuid: string): Promise<readonly string[]> {
    const answer = await this.control.call(uuid, { kind: 'lines', last: 1000, colours: false });
    return answer?.kind === 'lines' ? answer.lines : [];
  }

  /** The number of these requests to the engine. */
  count(operation: FakeEngine['calls'][number]['operation'], uuid: string | null): number {
    return this.engine.calls.filter((one) => one.operation === operation && one.uuid === uuid)
      .length;
  }
}

/** Polls; rejects after a timeout. */
export async function until(
  isSo: () => Promise<boolean>,
  describe: () => string = () => `not so: ${isSo}`,
): Promise<void> {
  const untilMs = performance.now() + TIMEOUT_MS;
  while (!(await isSo())) {
    if (performance.now() > untilMs) throw new Error(describe());
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
