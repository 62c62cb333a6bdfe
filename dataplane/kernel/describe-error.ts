import { describeError } from '@portcullis/core/log.ts';

/** Messages that nft and system calls say to a process without rights. nft reads the ruleset into its cache first. */
const DENIED = /\bE(?:PERM|ACCES)\b|Operation not permitted|Permission denied|must be root/;

/** An error of the kernel in words for the operator: a denial says what is missing, not which call was refused. */
export function describeKernelError(error: unknown): string {
  const text = describeError(error);
  return DENIED.test(text) ? 'this needs root, or CAP_NET_ADMIN and CAP_BPF' : text;
}
