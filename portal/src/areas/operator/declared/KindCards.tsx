import { KindCard } from './KindCard.tsx';
import { rowsOf } from './kinds.ts';

/** What is declared of an organisation, or of the whole fleet, a card a kind. */
export default function KindCards({ organisation }: { readonly organisation?: string }) {
  const isOfFleet = organisation === undefined;
  return (
    <div className="stack">
      {rowsOf(isOfFleet ? 'fleet' : 'organisation').map((row) => (
        <KindCard key={row.kind.name} row={row} at={isOfFleet ? {} : { organisation }} />
      ))}
    </div>
  );
}
