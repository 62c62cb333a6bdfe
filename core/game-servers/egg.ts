import type { FilterType } from '../filters/catalogue.ts';

/**
 * The build, start and stop of a game: one model for all versions of the community's egg files (PTDL_v1, PTDL_v2,
 * PLCN_v1 to v3). Created by `parseEgg`; immutable and complete, so that a node needs no file.
 */
export interface Egg {
  readonly name: string;
  readonly description: string;
  /** The first is used unless a server chooses another. Never empty. */
  readonly images: readonly EggImage[];
  /** With `{{VARIABLE}}` templates. Null: the image's own command. */
  readonly startup: string | null;
  /**
   * `image`: runs the entrypoint and command of the image with `STARTUP` in the environment. `startup`: the startup of
   * the egg replaces the command; it is split into arguments and never passed to a shell.
   */
  readonly launch: 'image' | 'startup';
  /** Any of these console lines means that the server is running. Empty: it is running once started. */
  readonly done: readonly DonePattern[];
  readonly stop: StopInstruction;
  readonly stopTimes: StopTimes;
  readonly configFiles: readonly ConfigFile[];
  /** Null: nothing to install. */
  readonly install: InstallScript | null;
  readonly variables: readonly EggVariable[];
  /** Linux capabilities that the game needs, such as `NET_BIND_SERVICE`; all others are dropped. */
  readonly capabilities: readonly string[];
  /** The protocols of the published ports; both by default. */
  readonly protocols: readonly ('tcp' | 'udp')[];
  /** The stateful filters of its ports. Empty: not said. */
  readonly filters: readonly FilterType[];
  /** Lines of a gitignore file: what of the server's files nobody may read, change or delete; see `parseDenylist`. */
  readonly fileDenylist: readonly string[];
}

export interface EggImage {
  readonly label: string;
  /** An image reference; `local` ones (written `~name`) exist on the node and are never pulled. */
  readonly reference: string;
  readonly local: boolean;
}

export interface DonePattern {
  readonly kind: 'text' | 'regex';
  readonly pattern: string;
}

export type StopInstruction =
  | { readonly kind: 'command'; readonly command: string }
  | { readonly kind: 'signal'; readonly signal: StopSignal };
export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGQUIT' | 'SIGHUP' | 'SIGABRT' | 'SIGKILL';

/** From the stop instruction to TERM, and from TERM to KILL. */
export interface StopTimes {
  readonly termAfterMs: number;
  readonly killAfterMs: number;
}

export interface ConfigFile {
  /** Relative to the server's folder. */
  readonly path: string;
  readonly parser: 'file' | 'properties' | 'ini' | 'yaml' | 'json' | 'xml' | 'toml';
  readonly replacements: readonly ConfigReplacement[];
}
export interface ConfigReplacement {
  /** A key, a dotted path (`a.b[0].c`, `*` for every one), or the start of a line for `file`. */
  readonly match: string;
  /** Replaces only this value (or a match, with `regex:`). Null: always. */
  readonly ifValue: string | null;
  /** With `{{server.build.default.port}}`, `{{server.build.env.NAME}}`, `{{env.NAME}}`. */
  readonly value: string | number | boolean;
}

export interface InstallScript {
  readonly image: EggImage;
  readonly entrypoint: string;
  readonly script: string;
}

export interface EggVariable {
  readonly name: string;
  /** For people; may be empty. */
  readonly description: string;
  /** The name in the environment and in templates. */
  readonly env: string;
  readonly defaultValue: string;
  /** Single rules: `required`, `string`, `max:20`; see `variables.ts`. */
  readonly rules: readonly string[];
  /** Whether the people of a server may see its value, and whether they may change what they see. */
  readonly viewable: boolean;
  readonly editable: boolean;
}
