import { closeDescriptor, type Descriptor, updateElement } from '../../kernel/bpf/bpf.ts';
import { type BpfArtifact, relocated } from '../../kernel/bpf/bpf-artifact.ts';
import {
  loadProgram,
  loadProgramOffThread,
  type ProgramImage,
} from '../../kernel/bpf/bpf-program.ts';

/** The programs of early-drop.bpf.c. Each refers to the maps that it was loaded with. */
const PROGRAMS = {
  native: { name: 'pcl_early_drop', section: 'xdp' },
  tc: { name: 'pcl_early_tc', section: 'tcx/ingress' },
  egress: { name: 'pcl_remember', section: 'tcx/egress' },
  nativeGreeting: { name: 'pcl_greeting', section: 'xdp/greeting' },
  tcGreeting: { name: 'pcl_greeting_tc', section: 'tcx/ingress/greeting' },
} as const;
type Loadable = keyof typeof PROGRAMS;
export type ProgramName = 'native' | 'tc' | 'egress';
/** The programs that others call, and the map that they are called by. */
const CALLED: Readonly<Partial<Record<ProgramName, readonly [Loadable, string]>>> = {
  native: ['nativeGreeting', 'greeters'],
  tc: ['tcGreeting', 'greeters_tc'],
};

const FIRST = Buffer.alloc(4);

type Maps = Readonly<Record<string, Descriptor>>;

/** Loads each program once, at the latest when it is used: few hosts need all, and the verifier takes 200 to 400 ms. */
export class Programs {
  readonly #artifact: BpfArtifact;
  readonly #maps: Maps;
  readonly #loaded = new Map<Loadable, Descriptor>();

  constructor(artifact: BpfArtifact, maps: Maps) {
    this.#artifact = artifact;
    this.#maps = maps;
  }

  /** Loads it if it is not loaded, and what it calls. Throws `SystemError` or `ProgramRefused`. */
  get(program: ProgramName): Descriptor {
    const known = this.#loaded.get(program);
    if (known !== undefined) return known;
    for (const name of this.#withCalled(program))
      this.#loaded.set(name, loadProgram(PROGRAMS[name].name, this.#imageOf(name)));
    this.#connect(program);
    return this.get(program);
  }

  /** Loads on other threads. */
  async prepare(programs: readonly ProgramName[]): Promise<void> {
    const loading = programs
      .flatMap((one) => this.#withCalled(one))
      .map(async (program) => {
        const { name } = PROGRAMS[program];
        this.#loaded.set(program, await loadProgramOffThread(name, this.#imageOf(program)));
      });
    for (const one of await Promise.allSettled(loading))
      if (one.status === 'rejected') throw one.reason;
    for (const program of programs) this.#connect(program);
  }

  #withCalled(program: ProgramName): Loadable[] {
    const [called] = CALLED[program] ?? [];
    return called === undefined ? [program] : [called, program];
  }

  #connect(program: ProgramName): void {
    const [called, name] = CALLED[program] ?? [];
    const callee = called && this.#loaded.get(called);
    const map = name === undefined ? undefined : this.#maps[name];
    if (callee === undefined || map === undefined) return;
    const value = Buffer.alloc(4);
    value.writeUInt32LE(callee, 0);
    updateElement(map, FIRST, value);
  }

  close(): void {
    for (const program of this.#loaded.values()) closeDescriptor(program);
    this.#loaded.clear();
  }

  #imageOf(program: Loadable): ProgramImage {
    const { section } = PROGRAMS[program];
    const found = this.#artifact.programs[section];
    if (found === undefined) throw new Error(`the artifact has no program ${section}`);
    const instructions = relocated(found, this.#maps);
    return { type: found.type, instructions, license: this.#artifact.license };
  }
}
