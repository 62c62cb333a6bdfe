import { MantineProvider } from '@mantine/core';
import { Notifications } from '@mantine/notifications';
import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { createRoot } from 'react-dom/client';
import { StrictMode } from 'react';
import '@mantine/core/styles.css';
import '@mantine/notifications/styles.css';
import './styles/theme.css';
import './styles/layout.css';
import './styles/components.css';
import './styles/settings.css';
import './styles/cards.css';
import { router } from './router.tsx';
import { SessionProvider } from './session/SessionProvider.tsx';
import { theme } from './theme.ts';

/** The client repeats what is safe to repeat, so a query does not. */
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 5_000 }, mutations: { retry: false } },
});

const root = document.getElementById('root');
if (root === null) throw new Error('index.html has no #root');
createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      defaultColorScheme="auto"
      withCssVariables={false}
      withGlobalClasses={false}
    >
      <Notifications position="bottom-right" autoClose={6_000} />
      <QueryClientProvider client={queries}>
        <SessionProvider>
          <RouterProvider router={router} />
        </SessionProvider>
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
