import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';

const text = operatorMessages.fleet;

interface Props {
  readonly kind: 'edges' | 'nodes' | 'collectors';
  readonly name: string;
  readonly owner: string;
}

/** Removes an agent with its credential; one of the fleet file is removed there. */
export function RemoveAgent({ kind, name, owner }: Props) {
  return (
    <ConfirmButton
      size="compact-sm"
      aria-label={text.removeOf(name)}
      refusal={owner === 'fleet' ? text.ofFleet : null}
      title={text.removeTitle(name)}
      question={text.removeText[kind]}
      write={() => personClient.removeAgent({ kind, name })}
    >
      {text.remove}
    </ConfirmButton>
  );
}
