import { Link, type LinkProps } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import { messages } from '../messages/index.ts';

interface Props {
  readonly title: string;
  readonly lead?: ReactNode;
  /** The page above. */
  readonly above?: { readonly to: NonNullable<LinkProps['to']>; readonly title: string };
  readonly children?: ReactNode;
}

/** The title of a page with its actions; also the title of the window. */
export function PageHeader({ title, lead, above, children }: Props) {
  useEffect(() => {
    document.title = `${title} · ${messages.product}`;
  }, [title]);
  return (
    <header className="head">
      <div>
        {above !== undefined && (
          <Link className="crumb" to={above.to}>
            {above.title}
          </Link>
        )}
        <h1>{title}</h1>
        {lead !== undefined && <p>{lead}</p>}
      </div>
      {children !== undefined && <div className="row-end">{children}</div>}
    </header>
  );
}
