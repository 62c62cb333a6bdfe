import { TextInput } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { Trash2 } from 'lucide-react';
import { useState } from 'react';
import { RoleButton } from '../../../components/RoleButton.tsx';
import { WriteDialog } from '../../../components/forms/WriteDialog.tsx';
import { serverMakingMessages } from '../../../messages/servers/making.ts';
import { useSession } from '../../../session/session.ts';

const text = serverMakingMessages.delete;

interface Props {
  readonly uuid: string;
  readonly name: string;
}

/** Deletes a server that the organisation made, once its name is typed. */
export default function DeleteServer({ uuid, name }: Props) {
  const [isAsking, setAsking] = useState(false);
  const { client } = useSession();
  const navigate = useNavigate();
  return (
    <>
      <RoleButton
        needs="owner"
        variant="default"
        leftSection={<Trash2 size={15} aria-hidden="true" />}
        onClick={() => setAsking(true)}
      >
        {text.button}
      </RoleButton>
      {isAsking && (
        <WriteDialog
          title={text.title(name)}
          submit={text.button}
          isFinal
          initial={{ typed: '' }}
          refusal={({ typed }) => typed.trim() !== name}
          write={() => client.deleteGameServer({ slice: uuid })}
          removes={['server', uuid]}
          onDone={() => void navigate({ to: '/servers' })}
          onClose={() => setAsking(false)}
        >
          {(form) => (
            <div className="stack">
              <p>{text.text}</p>
              <TextInput
                label={text.type(name)}
                data-autofocus
                autoComplete="off"
                {...form.getInputProps('typed')}
              />
            </div>
          )}
        </WriteDialog>
      )}
    </>
  );
}
