import { Button, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { type SubmitEvent, useState } from 'react';
import { Notice } from '../../components/Notice.tsx';
import { ProblemNotice } from '../../components/ProblemNotice.tsx';
import { messages } from '../../messages/index.ts';
import { personClient, useSession } from '../../session/session.ts';

const text = messages.account.profile;

export function ProfileCard() {
  const { person, refreshPerson } = useSession();
  const [name, setName] = useState(person?.name ?? '');
  const rename = useMutation({
    mutationFn: async () => {
      await personClient.renameAccount({ body: { name: name.trim() } });
      await refreshPerson();
    },
  });
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    rename.mutate();
  };
  return (
    <section className="card card-pad" aria-label={text.title}>
      <h2>{text.title}</h2>
      <p>{text.lead}</p>
      <form className="stack" onSubmit={submit}>
        <TextInput
          label={text.name}
          autoComplete="name"
          value={name}
          maxLength={100}
          onChange={(event) => setName(event.currentTarget.value)}
          required
        />
        <ProblemNotice error={rename.error} />
        {rename.isSuccess && <Notice kind="ok">{text.saved}</Notice>}
        <div className="row">
          <Button
            type="submit"
            variant="default"
            loading={rename.isPending}
            disabled={name.trim() === '' || name.trim() === person?.name}
          >
            {text.save}
          </Button>
        </div>
      </form>
    </section>
  );
}
