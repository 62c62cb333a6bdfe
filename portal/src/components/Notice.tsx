import { CircleCheck, CircleX, Info, TriangleAlert } from 'lucide-react';
import type { ReactNode } from 'react';

const ICONS = { info: Info, ok: CircleCheck, warn: TriangleAlert, bad: CircleX } as const;

interface Props {
  readonly kind: keyof typeof ICONS;
  readonly children: ReactNode;
}

/** A sentence or two beside an icon. `bad` is read out at once. */
export function Notice({ kind, children }: Props) {
  const Icon = ICONS[kind];
  return (
    <div className={`notice ${kind}`} role={kind === 'bad' ? 'alert' : 'status'}>
      <Icon size={17} aria-hidden="true" />
      <div>{children}</div>
    </div>
  );
}
