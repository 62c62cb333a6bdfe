import { messages } from '../messages/index.ts';

/** Rows in the place of a table that is on its way. */
export function Loading({ rows = 6 }: { readonly rows?: number }) {
  return (
    <div role="status" aria-label={messages.loading}>
      {Array.from({ length: rows }, (_, index) => (
        <div key={index} className="skeleton" />
      ))}
    </div>
  );
}
