import { Pill } from '../../components/Pill.tsx';
import { messages } from '../../messages/index.ts';

/** Where something is changed: in the fleet file, or here. */
export function OwnerPill({ owner }: { readonly owner: string }) {
  return (
    <Pill tone={owner === 'fleet' ? 'info' : 'neutral'} plain>
      {owner === 'fleet' ? messages.operator.fleetFile : messages.operator.portal}
    </Pill>
  );
}
