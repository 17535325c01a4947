// The screens, by their address. The last one is for unmatched addresses.
import { changingRoutes } from "./changing_routes.js";
import { deliveriesScreen } from "./screens/deliveries.js";
import { deliveryScreen } from "./screens/delivery.js";
import { activityScreen, replaysScreen } from "./screens/history.js";
import { missingScreen } from "./screens/missing.js";
import { summaryScreen } from "./screens/summary.js";

export const routes = [
  { pattern: "/", screen: summaryScreen },
  { pattern: "/entregas", screen: deliveriesScreen },
  { pattern: "/entregas/:webhook/:entrega", screen: deliveryScreen },
  { pattern: "/reenvios", screen: replaysScreen },
  { pattern: "/actividad", screen: activityScreen },
  ...changingRoutes,
  { pattern: ".*", screen: missingScreen },
];
