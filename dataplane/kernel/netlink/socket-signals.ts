import type { KoffiFunc } from 'koffi';
import { libc } from '../native.ts';

/** Source of all numbers: include/uapi/asm-generic/fcntl.h. */
const [GET_FLAGS, SET_FLAGS, SET_OWNER] = [3, 4, 8] as const;
const O_ASYNC = 0o20000;
/** Should a signal be lost; and where the kernel sends none, `POLL_MS`. */
const FALLBACK_MS = 1_000;
const POLL_MS = 100;

type Fcntl = KoffiFunc<(fd: number, command: number, value: number) => number>;

/** Of each socket, what is done when the kernel says that something arrived at one of them. */
const watched = new Set<() => void>();
let fcntl: Fcntl | null = null;
let listens = false;

export interface Arrivals {
  /** Before the socket is closed. */
  stop(): void;
}

/**
 * Calls `read` so many milliseconds after something arrived at a socket, so that what comes together is read together,
 * and every second when nothing did. The kernel says so by SIGIO, which costs nothing while nothing arrives: looking
 * twenty times a second is twenty wake-ups of the whole process, several hundredths of a processor.
 */
export function onArrival(fd: number, settleMs: number, read: () => void): Arrivals {
  let settling: NodeJS.Timeout | undefined;
  const onSignal = (): void => {
    settling ??= setTimeout(() => {
      settling = undefined;
      read();
    }, settleMs);
  };
  listen();
  watched.add(onSignal);
  const timer = setInterval(read, requestSignals(fd) ? FALLBACK_MS : POLL_MS);
  return {
    stop: () => {
      setFlags(fd, (flags) => flags & ~O_ASYNC);
      watched.delete(onSignal);
      clearInterval(timer);
      clearTimeout(settling);
    },
  };
}

/** Before any signal, and for good: without a handler SIGIO ends a process. */
function listen(): void {
  if (listens) return;
  listens = true;
  process.on('SIGIO', () => {
    for (const onSignal of watched) onSignal();
  });
}

function requestSignals(fd: number): boolean {
  const owned = call(fd, SET_OWNER, process.pid) >= 0;
  return owned && setFlags(fd, (flags) => flags | O_ASYNC);
}

function setFlags(fd: number, change: (flags: number) => number): boolean {
  const flags = call(fd, GET_FLAGS, 0);
  return flags >= 0 && call(fd, SET_FLAGS, change(flags)) >= 0;
}

/** Declared with its last argument, which it takes like any other call on the processors that we run on. */
function call(fd: number, command: number, value: number): number {
  fcntl ??= libc().func('int fcntl(int fd, int command, long value)') as Fcntl;
  return fcntl(fd, command, value);
}
