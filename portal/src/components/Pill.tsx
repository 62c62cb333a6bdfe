import type { ReactNode } from 'react';

export type Tone = 'ok' | 'warn' | 'bad' | 'info' | 'neutral';

interface Props {
  readonly tone: Tone;
  /** It will change by itself soon. */
  readonly moving?: boolean;
  readonly plain?: boolean;
  readonly children: ReactNode;
}

/** A state in a word or two. The word says it, the colour only repeats it. */
export function Pill({ tone, moving = false, plain = false, children }: Props) {
  const classes = ['pill', tone, moving ? 'moving' : '', plain ? 'plain' : ''];
  return <span className={classes.filter(Boolean).join(' ')}>{children}</span>;
}
