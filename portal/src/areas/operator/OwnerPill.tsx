import { Pill } from '../../components/Pill.tsx';
import { operatorMessages } from '../../messages/operator.ts';

/** Where something is changed: in the fleet file, or here. */
export function OwnerPill({ owner }: { readonly owner: string }) {
  return (
    <Pill tone={owner === 'fleet' ? 'info' : 'neutral'} plain>
      {owner === 'fleet' ? operatorMessages.fleetFile : operatorMessages.portal}
    </Pill>
  );
}
