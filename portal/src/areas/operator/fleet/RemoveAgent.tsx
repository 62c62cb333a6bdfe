import { Button, Tooltip } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { Confirm } from '../../../components/Confirm.tsx';
import { messages } from '../../../messages/index.ts';
import { personClient } from '../../../session/session.ts';
import { useRefreshOperator } from '../queries.ts';

const text = messages.operator.fleet;

interface Props {
  readonly kind: 'edges' | 'nodes' | 'collectors';
  readonly name: string;
  readonly owner: string;
}

/** Removes an agent with its credential; one of the fleet file is removed there. */
export function RemoveAgent({ kind, name, owner }: Props) {
  const [isOpen, setOpen] = useState(false);
  const refresh = useRefreshOperator();
  const remove = useMutation({
    mutationFn: () => personClient.removeAgent({ kind, name }),
    onSuccess: refresh,
  });
  const refusal = owner === 'fleet' ? text.ofFleet : null;
  return (
    <>
      <Tooltip label={refusal} disabled={refusal === null}>
        <Button
          variant="default"
          size="compact-sm"
          aria-label={text.removeOf(name)}
          {...(refusal !== null && { 'data-disabled': true })}
          aria-disabled={refusal !== null}
          onClick={() => refusal === null && setOpen(true)}
        >
          {text.remove}
        </Button>
      </Tooltip>
      {isOpen && (
        <Confirm
          title={text.removeTitle(name)}
          confirm={text.remove}
          write={remove}
          onClose={() => setOpen(false)}
        >
          {text.removeText[kind]}
        </Confirm>
      )}
    </>
  );
}
