import type { FileEntry, FileRefusalCode } from '@portcullis/link/messages/files.ts';
import type { SftpLogin } from '@portcullis/link/messages/sftp.ts';

/** The messages between the agent and the process that serves SFTP. Each open connection has a number. */

export interface SftpLimits {
  /** Connections in all, and of one source. */
  readonly connections: number;
  readonly perSource: number;
  /** Connections of one person, and to one server, that have logged in: the people of a server come from many sources. */
  readonly perPerson: number;
  readonly perServer: number;
  /** Connections that have not logged in. */
  readonly waiting: number;
  readonly loginMs: number;
  /** Refused keys and passwords of one connection. */
  readonly tries: number;
  /** Open channels of one connection. */
  readonly channels: number;
  /** Open files and folders of one connection. */
  readonly handles: number;
  /** Entries of the open folders of all connections, which wait in memory to be read: 500,000 are about 100 MB. */
  readonly entries: number;
  /** Requests of one connection that wait. */
  readonly requests: number;
  /** Bytes of writes that wait, of one connection and of all. */
  readonly bytes: number;
  readonly allBytes: number;
}

export const SFTP_LIMITS: SftpLimits = {
  connections: 200,
  perSource: 30,
  perPerson: 30,
  perServer: 60,
  waiting: 60,
  loginMs: 10_000,
  tries: 10,
  channels: 10,
  handles: 64,
  entries: 500_000,
  requests: 1_024,
  bytes: 4 * 1024 * 1024,
  allBytes: 32 * 1024 * 1024,
};

export interface SftpStart {
  readonly kind: 'start';
  readonly host: string;
  readonly port: number;
  readonly hostKey: string;
  readonly limits: SftpLimits;
}

/** Operations on files. A handle is a number of the agent. */
export type SftpOperation =
  | { readonly kind: 'open'; readonly path: string; readonly flags: number }
  | {
      readonly kind: 'read';
      readonly handle: number;
      readonly offset: number;
      readonly length: number;
    }
  | {
      readonly kind: 'write';
      readonly handle: number;
      readonly offset: number;
      readonly data: Uint8Array;
    }
  | { readonly kind: 'close'; readonly handle: number }
  | { readonly kind: 'statOpen'; readonly handle: number }
  | {
      readonly kind: 'setOpen';
      readonly handle: number;
      readonly mode: number | null;
      readonly size: number | null;
    }
  | { readonly kind: 'stat'; readonly path: string }
  | { readonly kind: 'setMode'; readonly path: string; readonly mode: number }
  | { readonly kind: 'openFolder'; readonly path: string }
  | { readonly kind: 'readFolder'; readonly handle: number }
  | { readonly kind: 'remove'; readonly path: string }
  | { readonly kind: 'makeFolder'; readonly path: string }
  | { readonly kind: 'removeFolder'; readonly path: string }
  | { readonly kind: 'rename'; readonly from: string; readonly to: string };

export type SftpEntry = Pick<FileEntry, 'name' | 'type' | 'size' | 'modifiedAtMs' | 'mode'>;

export interface ReadBytes {
  readonly kind: 'data';
  /** Null: the end of the file. */
  readonly data: Uint8Array | null;
  /** Whether the file ends behind them. */
  readonly isEnd: boolean;
}

export type SftpResult =
  | { readonly kind: 'done' }
  /** `start`: of a file that was opened to be read. */
  | { readonly kind: 'handle'; readonly handle: number; readonly start?: ReadBytes }
  | ReadBytes
  | { readonly kind: 'entry'; readonly entry: SftpEntry }
  /** Null: there are no more. */
  | { readonly kind: 'entries'; readonly entries: readonly SftpEntry[] | null }
  | { readonly kind: 'refused'; readonly code: FileRefusalCode; readonly reason: string };

export type FromProcess =
  | { readonly kind: 'listening'; readonly port: number }
  | {
      readonly kind: 'login';
      readonly id: number;
      readonly connection: number;
      readonly login: Omit<SftpLogin, 'kind'>;
    }
  | {
      readonly kind: 'operation';
      readonly id: number;
      readonly connection: number;
      readonly operation: SftpOperation;
    }
  | { readonly kind: 'closed'; readonly connection: number };

export type ToProcess =
  | SftpStart
  | { readonly kind: 'admission'; readonly id: number; readonly isAdmitted: boolean }
  | { readonly kind: 'result'; readonly id: number; readonly result: SftpResult }
  /** The rights of the person have ended. */
  | { readonly kind: 'end'; readonly connection: number };
