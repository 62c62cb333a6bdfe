import { TextInput } from '@mantine/core';
import { Card } from '../../components/Card.tsx';
import { WriteForm } from '../../components/forms/WriteForm.tsx';
import { messages } from '../../messages/index.ts';
import { personClient, useSession } from '../../session/session.ts';

const text = messages.account.profile;

export function ProfileCard() {
  const { person, refreshPerson } = useSession();
  return (
    <Card title={text.title} lead={text.lead}>
      <WriteForm
        initial={{ name: person?.name ?? '' }}
        submit={text.save}
        submitProps={{ variant: 'default' }}
        saved={text.saved}
        refusal={({ name }) => name.trim() === '' || name.trim() === person?.name}
        write={async ({ name }) => {
          await personClient.renameAccount({ body: { name: name.trim() } });
          await refreshPerson();
        }}
      >
        {({ getInputProps }) => (
          <TextInput
            label={text.name}
            autoComplete="name"
            maxLength={100}
            required
            {...getInputProps('name')}
          />
        )}
      </WriteForm>
    </Card>
  );
}
