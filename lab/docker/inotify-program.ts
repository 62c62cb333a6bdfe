import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TarEntry } from './tar.ts';

/** Takes inotify instances until the kernel refuses one, prints `ready took N`, and holds them until its input ends. */
const SOURCE = `#include <asm/unistd.h>
static long call(long number, long one, const void *two, long three) {
#if defined(__x86_64__)
  long result;
  __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(one), "S"(two), "d"(three) : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = one;
  register const void *x1 __asm__("x1") = two;
  register long x2 __asm__("x2") = three;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#endif
}
static char text[] = "ready took 0000\\n";
static char input;
void _start(void) {
  long taken = 0;
  while (taken < 9999 && call(__NR_inotify_init1, 0, 0, 0) >= 0) taken++;
  for (long place = 14, left = taken; place > 10; place--, left /= 10) text[place] = '0' + left % 10;
  call(__NR_write, 1, text, sizeof text - 1);
  while (call(__NR_read, 0, &input, 1) > 0);
  call(__NR_exit, 0, 0, 0);
}
`;

/** The program, as a file of an image. */
export function inotifyProgram(path: string): TarEntry {
  const folder = mkdtempSync(join(tmpdir(), 'pcl-inotify-'));
  try {
    writeFileSync(join(folder, 'main.c'), SOURCE);
    const options = ['-static', '-nostdlib', '-ffreestanding', '-fno-stack-protector', '-O1'];
    execFileSync('clang', [...options, '-o', 'main', 'main.c'], { cwd: folder });
    return { path, mode: 0o755, content: readFileSync(join(folder, 'main')) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
