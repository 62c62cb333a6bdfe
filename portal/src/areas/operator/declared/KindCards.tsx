import { KindCard } from './KindCard.tsx';
import { rowsOf } from './kinds.ts';

/** Cards of the kinds that are declared of an organisation, or of the whole fleet. */
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
