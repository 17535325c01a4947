-- Takes: nothing, however many rows: foreign keys are dropped without touching them (MariaDB and MySQL).
-- A delivery is created, and an attempt recorded, without a look-up that asks whether their parent exists: each was locked in the same
-- transaction. It cost every delivery two look-ups, and made the fan-out wait for whoever locks a notification. Retention removes
-- attempts before their delivery and deliveries before their notification, under its lock.
SET @entregas_sin_clave_ajena = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE constraint_schema = DATABASE() AND table_name = 'entregas' AND constraint_name = 'entregas_notificacion'),
  'ALTER TABLE entregas DROP FOREIGN KEY entregas_notificacion',
  'DO 0');
PREPARE entregas_sin_clave_ajena FROM @entregas_sin_clave_ajena;
EXECUTE entregas_sin_clave_ajena;
DEALLOCATE PREPARE entregas_sin_clave_ajena;

SET @intentos_sin_clave_ajena = IF(
  EXISTS (SELECT 1 FROM information_schema.table_constraints
          WHERE constraint_schema = DATABASE() AND table_name = 'intentos_entrega' AND constraint_name = 'intentos_entrega_de'),
  'ALTER TABLE intentos_entrega DROP FOREIGN KEY intentos_entrega_de',
  'DO 0');
PREPARE intentos_sin_clave_ajena FROM @intentos_sin_clave_ajena;
EXECUTE intentos_sin_clave_ajena;
DEALLOCATE PREPARE intentos_sin_clave_ajena;
