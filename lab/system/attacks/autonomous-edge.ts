import { type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FakeControl } from '@portcullis/edge/testing/control.ts';
import { serveIpc } from '@portcullis/link/transport/ipc.ts';
import type { ControlSide } from '@portcullis/link/transport/transport.ts';
import type { OutageAttack } from '@portcullis/link/messages/attacks.ts';
import { linkOf } from '../../bench/generator/traffic.ts';
import { mountBpffs, unmountBpffs } from '../../kernel/bpffs.ts';
import { sendFloods } from '../../floods/flood.ts';
import type { FloodKind } from '../../floods/frames.ts';
import type { FloodReport } from '../../floods/schedule.ts';
import { createInternet, EDGE_DEVICE, type Internet } from '../../stack/internet.ts';

const PROGRAM = join(import.meta.dirname, '..', '..', '..', 'edge', 'main.ts');

/** An edge process in the lab's internet, with a control plane that a test can disconnect. */
export class AutonomousEdge {
  readonly internet: Internet;
  /** Requests that it sent, and what it wants, and what it heard. */
  readonly control = new FakeControl();
  readonly #home = mkdtempSync(join(tmpdir(), 'portcullis-alone-'));
  #served: ControlSide | null = null;
  #edge: ChildProcess | null = null;

  constructor(label: string) {
    this.internet = createInternet(label);
    mountBpffs(join(this.#home, 'bpffs'));
  }

  /** Attacks that the edge reported, in order. */
  get reported(): OutageAttack[] {
    return this.control.received.flatMap((one) => (one.kind === 'edge.attacks' ? one.attacks : []));
  }

  startEdge(): void {
    const config = {
      name: 'fra1',
      linkPath: this.#socket,
      stateDir: join(this.#home, 'edge'),
      mode: 'enforce',
    };
    const env = {
      ...process.env,
      PORTCULLIS_EDGE_CONFIG: JSON.stringify(config),
      PORTCULLIS_BPFFS: join(this.#home, 'bpffs'),
      PORTCULLIS_LOG_LEVEL: 'error',
    };
    const stdio = ['ignore', 'inherit', 'inherit'] as const;
    this.#edge = this.internet.edge.spawn([process.execPath, PROGRAM], { env, stdio: [...stdio] });
  }

  async killEdge(): Promise<void> {
    const edge = this.#edge;
    this.#edge = null;
    if (edge === null) return;
    const gone = once(edge, 'exit');
    edge.kill('SIGKILL');
    await gone;
  }

  async comeControl(): Promise<void> {
    const handler = async (_: unknown, request: Parameters<FakeControl['answer']>[0]) =>
      this.control.answer(request);
    this.#served = await serveIpc({ path: this.#socket, handler });
  }

  async loseControl(): Promise<void> {
    await this.#served?.close();
    this.#served = null;
  }

  /** `enough`: it ends before. */
  async flood(
    kind: FloodKind,
    target: string,
    pps: number,
    seconds: number,
    enough?: AbortSignal,
  ): Promise<FloodReport> {
    const { client, edge } = this.internet;
    const { ifindex } = linkOf(client, 'eth0');
    const to = linkOf(edge, EDGE_DEVICE).address;
    const plan = { name: kind, kind, target, to, device: 'eth0', ifindex, pps, seconds };
    const report = (await sendFloods(client, [plan], undefined, enough)).get(kind);
    if (report === undefined) throw new Error('a flood says nothing of itself');
    return report;
  }

  /** Matching packets that arrive at the server. */
  countAtServer(match: string): () => number {
    const { server } = this.internet;
    const table = `add table inet counting
      add chain inet counting input { type filter hook prerouting priority -350; }
      add rule inet counting input ${match} counter`;
    server.run('nft', table);
    return () => {
      const listed = server.run('nft', 'list', 'chain', 'inet', 'counting', 'input');
      return Number(/counter packets (\d+)/.exec(listed)?.[1]);
    };
  }

  async destroy(): Promise<void> {
    await this.killEdge();
    await this.loseControl();
    await this.control.link.control.close();
    this.internet.destroy();
    unmountBpffs(join(this.#home, 'bpffs'));
    rmSync(this.#home, { recursive: true, force: true });
  }

  get #socket(): string {
    return join(this.#home, 'control.sock');
  }
}
