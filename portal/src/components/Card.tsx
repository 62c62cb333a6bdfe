import type { ReactNode } from 'react';

interface Props {
  readonly title: string;
  readonly lead?: ReactNode;
  readonly children: ReactNode;
}

/** A part of a page with its title. */
export function Card({ title, lead, children }: Props) {
  return (
    <section className="card card-pad" aria-label={title}>
      <h2>{title}</h2>
      {lead !== undefined && <p>{lead}</p>}
      {children}
    </section>
  );
}
