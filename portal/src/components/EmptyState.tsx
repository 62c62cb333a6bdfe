import type { LucideIcon } from 'lucide-react';
import type { ReactNode } from 'react';

interface Props {
  readonly icon: LucideIcon;
  readonly title: string;
  /** Says what to do about it. */
  readonly text: string;
  /** It is all that its card holds. */
  readonly inCard?: boolean;
  readonly children?: ReactNode;
}

export function EmptyState({ icon: Icon, title, text, inCard = false, children }: Props) {
  const shown = (
    <div className="empty">
      <Icon size={28} strokeWidth={1.5} aria-hidden="true" />
      <h2>{title}</h2>
      <p>{text}</p>
      {children}
    </div>
  );
  return inCard ? <section className="card">{shown}</section> : shown;
}
