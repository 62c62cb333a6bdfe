import { closeSync, openSync } from 'node:fs';
import { libc, SystemError, errno } from '@portcullis/dataplane/kernel/native.ts';
import { execFileSync, spawn, type ChildProcess, type SpawnOptions } from 'node:child_process';

/** A network namespace of the lab, with its interfaces, addresses and routes. */
export interface Namespace {
  readonly name: string;
  /** Arguments that run a command inside: `ip netns exec NAME ...`. */
  command(...command: readonly string[]): readonly [string, ...string[]];
  /** Runs a command inside and returns what it printed; throws with its stderr. */
  run(...command: readonly string[]): string;
  spawn(command: readonly string[], options: SpawnOptions): ChildProcess;
  /**
   * Runs a function with the thread inside the namespace: kernel sockets that it opens belong to the namespace
   * permanently.
   */
  within<T>(work: () => T): T;
}

export interface Wire {
  readonly device: string;
  readonly addresses: readonly string[];
}

/**
 * A group of namespaces. Their names carry our pid, so that runs do not collide. `destroy` removes everything in them,
 * also after an incomplete set-up.
 */
export class Network {
  readonly #prefix: string;
  readonly #made: Namespace[] = [];

  constructor(label: string) {
    this.#prefix = `pcl-${process.pid}-${label}`;
  }

  create(role: string): Namespace {
    const name = `${this.#prefix}-${role}`;
    ip('netns', 'add', name);
    const namespace = namespaceNamed(name);
    this.#made.push(namespace);
    namespace.run('ip', 'link', 'set', 'lo', 'up');
    // Duplicate address detection would hold back every new IPv6 address for a second.
    sysctl(namespace, 'net.ipv6.conf.all.accept_dad', 0);
    sysctl(namespace, 'net.ipv6.conf.default.accept_dad', 0);
    sysctl(namespace, 'net.ipv6.conf.default.router_solicitations', 0);
    return namespace;
  }

  /** Creates a veth pair between two namespaces; addresses carry a prefix length, such as `192.0.2.1/24`. */
  join(a: Namespace, wireA: Wire, b: Namespace, wireB: Wire): void {
    const peer = ['peer', 'name', wireB.device, 'netns', b.name];
    a.run('ip', 'link', 'add', wireA.device, 'type', 'veth', ...peer);
    for (const [namespace, wire] of [[a, wireA] as const, [b, wireB] as const]) {
      for (const address of wire.addresses) addAddress(namespace, wire.device, address);
      namespace.run('ip', 'link', 'set', wire.device, 'up');
    }
  }

  destroy(): void {
    for (const { name } of this.#made.splice(0)) {
      for (const pid of pidsIn(name)) kill(pid);
      ip('netns', 'del', name);
    }
  }
}

export function addAddress(
  namespace: Namespace,
  device: string,
  address: string,
  ...options: readonly string[]
): void {
  const flags = address.includes(':') ? ['nodad'] : [];
  namespace.run('ip', 'address', 'add', address, 'dev', device, ...flags, ...options);
}

/** The same where it may be there already. */
export function setAddress(namespace: Namespace, device: string, address: string): void {
  const flags = address.includes(':') ? ['nodad'] : [];
  namespace.run('ip', 'address', 'replace', address, 'dev', device, ...flags);
}

export function addRoute(namespace: Namespace, to: string, via: string): void {
  namespace.run('ip', via.includes(':') ? '-6' : '-4', 'route', 'add', to, 'via', via);
}

/** The same in place of one that may be there already. */
export function setRoute(namespace: Namespace, to: string, via: string): void {
  namespace.run('ip', via.includes(':') ? '-6' : '-4', 'route', 'replace', to, 'via', via);
}

export function enableForwarding(namespace: Namespace): void {
  sysctl(namespace, 'net.ipv4.ip_forward', 1);
  sysctl(namespace, 'net.ipv6.conf.all.forwarding', 1);
}

export function sysctl(namespace: Namespace, name: string, value: number): void {
  namespace.run('sysctl', '-q', '-w', `${name}=${value}`);
}

function namespaceNamed(name: string): Namespace {
  const command = (...args: readonly string[]): [string, ...string[]] => [
    'ip',
    'netns',
    'exec',
    name,
    ...args,
  ];
  return {
    name,
    command,
    run: (...args) => execute(command(...args)),
    spawn: (args, options) => {
      const [program, ...rest] = command(...args);
      return spawn(program, rest, options);
    },
    within: (work) => within(`/run/netns/${name}`, work),
  };
}

const CLONE_NEWNET = 0x40000000;

function within<T>(path: string, work: () => T): T {
  const setns = libc().func('int setns(int fd, int type)') as (fd: number, type: number) => number;
  const enter = (fd: number): void => {
    if (setns(fd, CLONE_NEWNET) < 0) throw new SystemError('setns', errno());
  };
  const home = openSync('/proc/thread-self/ns/net', 'r');
  const there = openSync(path, 'r');
  try {
    enter(there);
    try {
      return work();
    } finally {
      enter(home);
    }
  } finally {
    closeSync(there);
    closeSync(home);
  }
}

/** Run from outside: a process inside would count itself. */
export function pidsIn(name: string): number[] {
  return execute(['ip', 'netns', 'pids', name]).split('\n').filter(Boolean).map(Number);
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has already ended.
  }
}

function ip(...args: readonly string[]): void {
  execute(['ip', ...args]);
}

function execute([program, ...args]: readonly [string, ...string[]]): string {
  return execFileSync(program, args, {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    // A table of many rules is longer than the default of 1 MiB.
    maxBuffer: 64 * 1024 * 1024,
  });
}
