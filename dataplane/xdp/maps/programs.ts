import { closeDescriptor, type Descriptor, updateElement } from '../../kernel/bpf/bpf.ts';
import { type BpfArtifact, relocated } from '../../kernel/bpf/bpf-artifact.ts';
import {
  loadProgram,
  loadProgramOffThread,
  type ProgramImage,
  ProgramRefused,
} from '../../kernel/bpf/bpf-program.ts';
import { SystemError } from '../../kernel/native.ts';

/** The programs of early-drop.bpf.c. Each refers to the maps that it was loaded with. */
const PROGRAMS = {
  native: { name: 'pcl_early_drop', section: 'xdp' },
  tc: { name: 'pcl_early_tc', section: 'tcx/ingress' },
  egress: { name: 'pcl_remember', section: 'tcx/egress' },
  nativeGreeting: { name: 'pcl_greeting', section: 'xdp/greeting' },
  tcGreeting: { name: 'pcl_greeting_tc', section: 'tcx/ingress/greeting' },
  nativeForward: { name: 'pcl_forward', section: 'xdp/forward' },
  tcForward: { name: 'pcl_forward_tc', section: 'tcx/ingress/forward' },
  nativeAnswer: { name: 'pcl_answer', section: 'xdp/answer' },
  tcAnswer: { name: 'pcl_answer_tc', section: 'tcx/ingress/answer' },
} as const;
type Loadable = keyof typeof PROGRAMS;
export type ProgramName = 'native' | 'tc' | 'egress' | 'nativeAnswer' | 'tcAnswer';
interface Called {
  readonly program: Loadable;
  /** The map that it is called by. */
  readonly map: string;
  /** The others work without it. */
  readonly isOptional: boolean;
}
/** The programs that others call. */
const CALLED: Readonly<Partial<Record<ProgramName, readonly Called[]>>> = {
  native: [
    { program: 'nativeGreeting', map: 'greeters', isOptional: false },
    { program: 'nativeForward', map: 'forwarders', isOptional: true },
  ],
  tc: [
    { program: 'tcGreeting', map: 'greeters_tc', isOptional: false },
    { program: 'tcForward', map: 'forwarders_tc', isOptional: true },
  ],
};

const FIRST = Buffer.alloc(4);

type Maps = Readonly<Record<string, Descriptor>>;

/** Loads each program once, at the latest when it is used: few hosts need all, and the verifier takes 200 to 400 ms. */
export class Programs {
  readonly #artifact: BpfArtifact;
  readonly #maps: Maps;
  readonly #loaded = new Map<Loadable, Descriptor>();
  #refusal: string | null = null;

  constructor(artifact: BpfArtifact, maps: Maps) {
    this.#artifact = artifact;
    this.#maps = maps;
  }

  /** Why the kernel refused the optional program, or null. */
  get forwardRefusal(): string | null {
    return this.#refusal;
  }

  /** Loads it if it is not loaded, and what it calls. Throws `SystemError` or `ProgramRefused`. */
  get(program: ProgramName): Descriptor {
    const known = this.#loaded.get(program);
    if (known !== undefined) return known;
    for (const { program: name, isOptional } of CALLED[program] ?? []) {
      try {
        this.#loaded.set(name, loadProgram(PROGRAMS[name].name, this.#imageOf(name)));
      } catch (error) {
        this.#refuse(error, isOptional);
      }
    }
    this.#loaded.set(program, loadProgram(PROGRAMS[program].name, this.#imageOf(program)));
    this.#connect(program);
    return this.get(program);
  }

  /** Loads on other threads. */
  async prepare(programs: readonly ProgramName[]): Promise<void> {
    const all = programs.flatMap((program) => [
      { program, isOptional: false },
      ...(CALLED[program] ?? []),
    ]);
    const loading = all.map(async ({ program }: { readonly program: Loadable }) => {
      const { name } = PROGRAMS[program];
      this.#loaded.set(program, await loadProgramOffThread(name, this.#imageOf(program)));
    });
    for (const [index, one] of (await Promise.allSettled(loading)).entries())
      if (one.status === 'rejected') this.#refuse(one.reason, all[index]?.isOptional === true);
    for (const program of programs) this.#connect(program);
  }

  #refuse(error: unknown, isOptional: boolean): void {
    const isRefusal = error instanceof ProgramRefused || error instanceof SystemError;
    if (!isOptional || !isRefusal) throw error;
    this.#refusal = error.message;
  }

  #connect(program: ProgramName): void {
    for (const { program: called, map: name } of CALLED[program] ?? []) {
      const callee = this.#loaded.get(called);
      const map = this.#maps[name];
      if (callee === undefined || map === undefined) continue;
      const value = Buffer.alloc(4);
      value.writeUInt32LE(callee, 0);
      updateElement(map, FIRST, value);
    }
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
