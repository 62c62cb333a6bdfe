import { ConfirmButton } from '../../../components/forms/ConfirmButton.tsx';
import { operatorMessages } from '../../../messages/operator.ts';
import { personClient } from '../../../session/session.ts';
import { type AgentKind, joinCommandOf, type MadeCommand } from './join.ts';

const text = operatorMessages.fleet;

interface Props {
  readonly kind: AgentKind;
  readonly name: string;
  readonly owner: string;
  onJoin(made: MadeCommand): void;
}

/** Lets a host join as the agent, or removes it with its credential; one of the fleet file is removed there. */
export function AgentButtons({ kind, name, owner, onJoin }: Props) {
  return (
    <>
      <ConfirmButton
        size="compact-sm"
        aria-label={text.joinOf(name)}
        title={text.joinTitle(name)}
        question={text.joinQuestion}
        write={() => joinCommandOf(kind, name)}
        onDone={onJoin}
      >
        {text.join}
      </ConfirmButton>
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
    </>
  );
}
