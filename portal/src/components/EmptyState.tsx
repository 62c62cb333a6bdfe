import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

interface Props {
  readonly icon: LucideIcon;
  readonly title: string;
  /** What to do about it. */
  readonly text: string;
  readonly children?: ReactNode;
}

export function EmptyState({ icon: Icon, title, text, children }: Props) {
  return (
    <div className="empty">
      <Icon size={28} strokeWidth={1.5} aria-hidden="true" />
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </div>
  );
}
